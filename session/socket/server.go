package socket

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Source makes an answer: a JSON object without a line break. It may be called from any goroutine, once at a time for each request.
type Source func() ([]byte, error)

// An Act does what a client asks for, with what follows the name of the request, and answers as a Source does. It is called for each request.
type Act func(argument string) ([]byte, error)

// A Server answers the requests of clients.
type Server struct {
	path     string
	dir      dir
	listener *net.UnixListener
	answers  map[string]*answer
	acts     map[string]Act
	log      func(string)
	closing  chan struct{} // closed by Close
	accepts  sync.WaitGroup
	clients  sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
	over  bool
	notes int
}

// Listen opens the socket of this process, and answers requests by name until Close. log is told of clients that are refused
// or cut off, maxNotes times at most; it may be called from any goroutine. The error says why nobody can ask.
func Listen(sources map[string]Source, acts map[string]Act, log func(string)) (*Server, error) {
	s := &Server{answers: map[string]*answer{}, acts: acts, log: log, closing: make(chan struct{}), conns: map[net.Conn]bool{}}
	for name, source := range sources {
		s.answers[name] = &answer{make: source}
	}
	if err := s.open(places(os.Geteuid())[0]); err != nil {
		return nil, err
	}
	s.accepts.Go(s.accept)
	return s, nil
}

// open makes the directory and the socket in it. The directory may be removed meanwhile, by a session that ends.
func (s *Server) open(path string) (err error) {
	for range 5 {
		if s.dir, err = makeDir(path); err == nil {
			s.dir.sweep()
			if s.listener, err = s.dir.listen(os.Getpid()); err == nil {
				s.path = filepath.Join(path, fileName(os.Getpid()))
				return nil
			}
			s.dir.close()
		}
		if !errors.Is(err, unix.ENOENT) {
			break
		}
	}
	return err
}

// Path is the name of the socket.
func (s *Server) Path() string { return s.path }

// listen listens on the socket of a process. One that is there already is replaced if nobody listens on it.
func (d dir) listen(pid int) (*net.UnixListener, error) {
	l, err := d.bind(pid)
	if errors.Is(err, unix.EADDRINUSE) {
		if !d.isDead(pid) {
			return nil, fmt.Errorf("%s/%s is in use by another process of that number, in another container maybe", d.path, fileName(pid))
		}
		unix.Unlinkat(d.fd, fileName(pid), 0)
		l, err = d.bind(pid)
	}
	return l, err
}

// bind makes the socket with mode 0600 from the first moment on: what is bound has the mode of the socket before (the kernel's
// unix_bind_bsd).
func (d dir) bind(pid int) (*net.UnixListener, error) {
	private := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		ctlErr := c.Control(func(fd uintptr) { err = unix.Fchmod(int(fd), 0o600) })
		return errors.Join(ctlErr, err)
	}}
	l, err := private.Listen(context.Background(), "unix", d.address(pid))
	if err != nil {
		return nil, err
	}
	unixListener := l.(*net.UnixListener)
	unixListener.SetUnlinkOnClose(false) // Close does that
	return unixListener, nil
}

// isDead reports whether nobody listens on the socket of a process.
func (d dir) isDead(pid int) bool {
	c, err := net.DialTimeout("unix", d.address(pid), time.Second)
	if err == nil {
		c.Close()
	}
	return errors.Is(err, unix.ECONNREFUSED)
}

// sweep removes what sessions have left that were killed.
func (d dir) sweep() {
	for _, pid := range d.list() {
		if unix.Kill(pid, 0) == unix.ESRCH && d.isDead(pid) {
			unix.Unlinkat(d.fd, fileName(pid), 0)
		}
	}
}

// Close removes the socket and cuts off clients that have no answer yet.
func (s *Server) Close() {
	s.mu.Lock()
	closed := s.over
	s.over = true
	for c := range s.conns {
		c.SetDeadline(time.Now())
	}
	s.mu.Unlock()
	if closed {
		return
	}
	close(s.closing)
	s.listener.Close()
	s.dir.remove(os.Getpid())
	s.accepts.Wait()
	s.clients.Wait()
	s.dir.close()
}

// accept takes clients, at a pace that leaves the processor to what is measured.
func (s *Server) accept() {
	for {
		began := time.Now()
		for range maxAccepts {
			c, err := s.listener.AcceptUnix()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil { // there are no descriptors left, for one
				break
			}
			s.take(c)
		}
		select {
		case <-s.closing:
			return
		case <-time.After(time.Until(began.Add(time.Second))):
		}
	}
}

// take serves a client, or tells it that it is one too many.
func (s *Server) take(c *net.UnixConn) {
	s.mu.Lock()
	many, over := len(s.conns) >= maxClients, s.over
	if !many && !over {
		s.conns[c] = true
		s.clients.Go(func() { s.serve(c) })
	}
	s.mu.Unlock()
	if many {
		tell(c, &Error{KindBusy, fmt.Sprintf("the session has %d clients already; ask again later", maxClients)})
	}
	if many || over {
		c.Close()
	}
}

// tell sends an error. It is short: there is room for it even where nobody reads.
func tell(c net.Conn, e *Error) {
	c.SetWriteDeadline(time.Now().Add(readWait))
	c.Write(e.line()) // the client may have gone
}

// serve answers one request.
func (s *Server) serve(c *net.UnixConn) {
	defer s.forget(c)
	who, err := peerOf(c)
	if err != nil {
		return
	}
	if uid := os.Geteuid(); int(who.Uid) != uid && who.Uid != 0 {
		s.note("process %d of uid %d may not ask this session, and was refused: it belongs to uid %d", who.Pid, who.Uid, uid)
		tell(c, &Error{KindForbidden, fmt.Sprintf("the session belongs to uid %d, and answers only that user and root", uid)})
		return
	}
	request, failed := s.read(c)
	if failed == errGone {
		return
	}
	if failed != nil {
		s.note("process %d has asked the session nothing that it knows: %v", who.Pid, failed)
		tell(c, failed)
		drain(c)
		return
	}
	s.send(c, who, request)
}

func (s *Server) forget(c net.Conn) {
	c.Close()
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
}

// errGone is told to nobody: the client has gone.
var errGone = &Error{}

// read reads a request.
func (s *Server) read(c net.Conn) (Source, *Error) {
	s.limit(c, askWait)
	line, err := bufio.NewReaderSize(c, maxRequest).ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, &Error{KindTooLong, fmt.Sprintf("a request is a line of at most %d bytes", maxRequest)}
	case errors.Is(err, io.EOF):
		return nil, errGone
	case err != nil:
		return nil, &Error{KindTimeout, fmt.Sprintf("no request came within %v; it is one line", askWait)}
	}
	request := string(line[:len(line)-1])
	if a := s.answers[request]; a != nil {
		return a.line, nil
	}
	name, argument, _ := strings.Cut(request, " ")
	if act := s.acts[name]; act != nil {
		return func() ([]byte, error) {
			b, err := act(argument)
			return append(b, '\n'), err
		}, nil
	}
	return nil, &Error{KindUnknown, fmt.Sprintf("there is no request %.40q; there are %s, %s and %s", request, Snapshot, Version, Phase)}
}

// limit bounds how long a client may take, unless the server is closing.
func (s *Server) limit(c net.Conn, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		c.SetDeadline(time.Now().Add(d))
	}
}

// send sends an answer.
func (s *Server) send(c net.Conn, who *unix.Ucred, answer Source) {
	line, err := answer()
	if err != nil {
		tell(c, &Error{KindFailed, err.Error()})
		return
	}
	s.limit(c, readWait)
	if _, err := c.Write(line); errors.Is(err, os.ErrDeadlineExceeded) {
		s.note("process %d does not read its answer: it was cut off after %v", who.Pid, readWait)
	}
}

// drain reads what a client still sends, so that it comes to read its answer.
func drain(c net.Conn) {
	buf := make([]byte, 64<<10)
	for n := 0; n < maxDrained; {
		got, err := c.Read(buf)
		if err != nil {
			return
		}
		n += got
	}
}

// peerOf says who has connected, or who listens, as it was then.
func peerOf(c *net.UnixConn) (who *unix.Ucred, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	ctlErr := raw.Control(func(fd uintptr) { who, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	return who, errors.Join(ctlErr, err)
}

// maxNotes bounds what is told of clients: a hostile one could else fill the log.
const maxNotes = 20

func (s *Server) note(format string, args ...any) {
	s.mu.Lock()
	s.notes++
	n, over := s.notes, s.over
	s.mu.Unlock()
	if over {
		return // it is our end that cuts them off
	}
	if n <= maxNotes {
		s.log(fmt.Sprintf(format, args...))
	}
	if n == maxNotes {
		s.log("further messages about clients of the socket are left out")
	}
}

// An answer is made for one client at a time, and shared while it is fresh.
type answer struct {
	make Source

	mu   sync.Mutex
	last []byte
	err  error
	at   time.Time
}

func (a *answer) line() ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at.IsZero() || time.Since(a.at) > fresh {
		b, err := a.make()
		a.last, a.err, a.at = append(b, '\n'), err, time.Now()
	}
	return a.last, a.err
}
