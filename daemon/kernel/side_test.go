package kernel

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSocketSides: who has connected and who was called, over TCP and UNIX sockets; a pair of one process has no sides, one that is shared with a child
// has; a datagram socket asks if the kernel has chosen its port.
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
	side := func(what string, pid, fd int, want Side) {
		t.Helper()
		if got, err := SocketSide(pid, fd, func(int) bool { return true }); got != want || err != nil {
			t.Errorf("%s: %v %v, want %v", what, got, err, want)
		}
	}
	side("a pair", pid, pair[0], NoSide)
	child := exec.Command("sleep", "60")
	end := os.NewFile(uintptr(pair[1]), "end")
	child.ExtraFiles = []*os.File{end}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	})
	if err := end.Close(); err != nil {
		t.Fatal(err)
	}
	side("the end of a pair that the parent keeps", pid, pair[0], Connected)
	side("the end of a pair that the child has", child.Process.Pid, 3, Accepted)
	client, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(client)
	side("a datagram socket that has sent nothing", pid, client, NoSide)
	if err := unix.Sendto(client, []byte("x"), 0, &unix.SockaddrInet4{Port: 9, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	side("a datagram socket that has sent", pid, client, Connected)
	server, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(server)
	for port := 20000; ; port++ {
		if err := unix.Bind(server, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err == nil {
			break
		} else if port > 20100 {
			t.Fatal(err)
		}
	}
	side("a datagram socket with a port of its own choice", pid, server, NoSide)
}
