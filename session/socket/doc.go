// Package socket lets other processes of the same user ask a session: the session listens on a Unix socket that is named
// after the process, PID.sock, and answers a request, which is one line, with one line of JSON.
//
// It knows no session and no report, and must import nothing of the house: answers are bytes. A Server is safe for use from
// any goroutine; each client has a goroutine of its own, and nothing that a client does makes the session wait, but for
// the answer that is being made when Close is called. Without Close the socket stays in its directory; the next session
// of the same user removes it.
//
// Three things keep other users out: the directory is the user's own (mode 0700, not a link), the socket has mode 0600,
// and the kernel says who has connected (SO_PEERCRED, unix(7)).
package socket
