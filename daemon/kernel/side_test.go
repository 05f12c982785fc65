package kernel

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSocketSides: who has connected and who was called, over TCP and UNIX sockets; a pair has no sides.
func TestSocketSides(t *testing.T) {
	pid := os.Getpid()
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(t.TempDir(), "s")} {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		c, err := net.Dial(network, l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		a, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		ports := ListeningPorts(pid)
		for _, x := range []struct {
			of   any
			want Side
		}{{l, Listening}, {c, Connected}, {a, Accepted}} {
			fd := fdOf(t, x.of.(interface{ File() (*os.File, error) }))
			if got, err := SocketSide(pid, fd, func(p int) bool { return ports[p] }); got != x.want || err != nil {
				t.Errorf("%s %T: %v %v, want %v", network, x.of, got, err, x.want)
			}
		}
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	if got, err := SocketSide(pid, pair[0], func(int) bool { return true }); got != NoSide || err != nil {
		t.Errorf("a pair: %v %v", got, err)
	}
}
