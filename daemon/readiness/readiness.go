package readiness

import (
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/kernel"
)

// A Kind is what sort of descriptors a call waits for.
type Kind int

// The kinds.
const (
	Unknown Kind = iota // they cannot be told, or are too many
	Nothing             // none: it sleeps
	Answer              // connections that this process has made
	Events              // no sockets: counters and signals of other threads, pipes
	Timer               // nothing but time and changes of files
	Served              // others have connected, or a mixture
)

// A Wait is what a call waits for.
type Wait struct {
	Kind
	FD int    // the first socket, -1 if there is none
	By string // how Events come: "eventfd", "signalfd", "pipe"; "" where in more than one way
}

// A Reader tells what the threads of a process wait for. Its fields do not change.
type Reader struct {
	PID    int
	Memory Memory

	sides   map[string]sideAt // by the link of a descriptor, which names the socket
	ports   map[int]bool
	portsAt time.Time
}

const (
	portsFor  = 5 * time.Second // for which the ports at which the process's network namespace listens are believed
	sideFor   = 2 * time.Second // for which the side of a socket is: one that had none may be connected meanwhile
	mostSides = 1 << 12
)

type sideAt struct {
	side kernel.Side
	at   time.Time
}

// Of tells what a blocked thread waits for in a call.
func (r *Reader) Of(call kernel.BlockedCall) Wait {
	fds, ok := descriptors(r.PID, r.Memory, call)
	switch {
	case !ok, len(fds) > most:
		return Wait{Kind: Unknown, FD: -1}
	case len(fds) == 0:
		return Wait{Kind: Nothing, FD: -1}
	}
	w := r.weigh(fds)
	if w.Kind == Served && !isEventLoop(call.NR) && r.isWokenAnswer(fds, w.FD) {
		w.Kind = Answer
	}
	return w
}

// isEventLoop reports whether descriptors are registered for a call once and for all.
func isEventLoop(nr int) bool {
	return nr == unix.SYS_EPOLL_WAIT || nr == unix.SYS_EPOLL_PWAIT || nr == unix.SYS_EPOLL_PWAIT2
}

// isWokenAnswer reports whether one of two descriptors is a connection over the network that the process has made, and the other one is for threads of
// its own that end the wait, as the runtimes of languages have it. Of UNIX sockets that is not said: programs wait so for what a desktop or a bus has
// to tell them.
func (r *Reader) isWokenAnswer(fds []int, socket int) bool {
	if len(fds) != 2 || socket < 0 {
		return false
	}
	for _, fd := range fds {
		link, err := kernel.FDLink(r.PID, fd)
		if err != nil || fd != socket && eventOf(link) == "" || fd == socket && r.side(fd, link) != kernel.Connected {
			return false
		}
	}
	to, err := kernel.FDTarget(r.PID, socket)
	return err == nil && strings.HasPrefix(to.Name, "tcp ")
}

// weigh puts together what the descriptors are.
func (r *Reader) weigh(fds []int) Wait {
	w := Wait{FD: -1}
	answers, events, timers, others := 0, 0, 0, 0
	for _, fd := range fds {
		link, err := kernel.FDLink(r.PID, fd)
		if err != nil {
			continue
		}
		by := eventOf(link)
		switch {
		case by != "":
			if events++; events == 1 || w.By == by {
				w.By = by
			} else {
				w.By = ""
			}
		case isTimer(link):
			timers++
		case strings.HasPrefix(link, "socket:["):
			if w.FD < 0 {
				w.FD = fd
			}
			if r.side(fd, link) == kernel.Connected {
				answers++
			} else {
				others++
			}
		default:
			others++
		}
	}
	switch {
	case others > 0, answers > 0 && events+timers > 0:
		w.Kind = Served
	case answers > 0:
		w.Kind = Answer
	case events > 0:
		w.Kind = Events
		if timers > 0 {
			w.By = ""
		}
	case timers > 0:
		w.Kind = Timer
	}
	return w
}

// eventOf is what other threads tell a descriptor's reader by; "" if it is none of those.
func eventOf(link string) string {
	if strings.HasPrefix(link, "pipe:[") {
		return "pipe"
	}
	for _, word := range []string{"eventfd", "signalfd"} {
		if strings.HasPrefix(link, "anon_inode:["+word) || link == "anon_inode:"+word {
			return word
		}
	}
	return ""
}

func isTimer(link string) bool {
	for _, word := range []string{"timerfd", "inotify", "fanotify"} {
		if strings.HasPrefix(link, "anon_inode:["+word) || link == "anon_inode:"+word {
			return true
		}
	}
	return false
}

// side is which end of a connection a socket is, by its descriptor and the link of that; what cannot be told is no answer. What was told is believed
// for a while: the descriptors of the process have to be looked through for the other end of a pair.
func (r *Reader) side(fd int, link string) kernel.Side {
	now := time.Now()
	if known, ok := r.sides[link]; ok && now.Sub(known.at) <= sideFor {
		return known.side
	}
	side, err := kernel.SocketSide(r.PID, fd, r.listens)
	if err != nil {
		return kernel.NoSide
	}
	if r.sides == nil || len(r.sides) >= mostSides {
		r.sides = map[string]sideAt{}
	}
	r.sides[link] = sideAt{side, now}
	return side
}

func (r *Reader) listens(port int) bool {
	if now := time.Now(); r.ports == nil || now.Sub(r.portsAt) > portsFor {
		r.ports, r.portsAt = kernel.ListeningPorts(r.PID), now
	}
	return r.ports[port]
}
