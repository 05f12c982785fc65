package kernel

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// fdOf returns the descriptor of something that has one, for as long as the test runs.
func fdOf(t *testing.T, c interface{ File() (*os.File, error) }) int {
	t.Helper()
	f, err := c.File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return int(f.Fd())
}

func check(t *testing.T, fd int, kind FDKind, name string) {
	t.Helper()
	got, err := FDTarget(os.Getpid(), fd)
	if err != nil || got.Kind != kind || got.Name != name {
		t.Errorf("descriptor %d: %+v, %v; want %s %q", fd, got, err, kind, name)
	}
}

func TestFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data file")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	check(t, int(f.Fd()), FDFile, path)
	null, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	check(t, int(null.Fd()), FDDevice, "/dev/null")
	dir, err := os.Open("/proc")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	check(t, int(dir.Fd()), FDDir, "/proc")
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(event)
	check(t, event, FDEvent, "anon_inode:[eventfd]")
}

func TestAClosedDescriptorIsGone(t *testing.T) {
	if fd, err := FDTarget(os.Getpid(), 1<<20); !errors.Is(err, ErrGone) {
		t.Errorf("%+v %v", fd, err)
	}
}

func TestPipesAreToldApart(t *testing.T) {
	r1, w1, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r1.Close()
	defer w1.Close()
	r2, w2, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r2.Close()
	defer w2.Close()
	a, err1 := FDTarget(os.Getpid(), int(r1.Fd()))
	b, err2 := FDTarget(os.Getpid(), int(w1.Fd()))
	c, err3 := FDTarget(os.Getpid(), int(r2.Fd()))
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	if a != b || a == c || a.Kind != FDPipe || a.Inode == 0 {
		t.Errorf("both ends %+v %+v, another %+v", a, b, c)
	}
}

func TestTCPSocketsHaveAddresses(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "[::1]"} {
		l, err := net.Listen("tcp", host+":0")
		if err != nil {
			t.Logf("no %s on this machine: %v", host, err)
			continue
		}
		defer l.Close()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		check(t, fdOf(t, l.(*net.TCPListener)), FDSocket, "tcp listen "+l.Addr().String())
		check(t, fdOf(t, c.(*net.TCPConn)), FDSocket, fmt.Sprintf("tcp %s", c.RemoteAddr()))
	}
}

func TestUDPAndUnixSockets(t *testing.T) {
	u, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	check(t, fdOf(t, u.(*net.UDPConn)), FDSocket, "udp "+u.LocalAddr().String())
	path := filepath.Join(t.TempDir(), "a socket")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	check(t, fdOf(t, l.(*net.UnixListener)), FDSocket, "unix "+path)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	got, err := FDTarget(os.Getpid(), pair[0])
	if err != nil || got.Name != fmt.Sprintf("unix socket:[%d]", got.Inode) {
		t.Errorf("an unnamed socket: %+v, %v", got, err)
	}
}

// TestSocketsAreNamedByTheirPeers: who is at the other end of UNIX sockets and of connected datagram sockets, and what may change.
func TestSocketsAreNamedByTheirPeers(t *testing.T) {
	for _, name := range []string{filepath.Join(t.TempDir(), "peer"), "@culprit-test-abstract"} {
		l, err := net.Listen("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		c, err := net.Dial("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		s, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		check(t, fdOf(t, c.(*net.UnixConn)), FDSocket, "unix "+name)
		check(t, fdOf(t, s.(*net.UnixConn)), FDSocket, "unix "+name)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if got, err := FDTarget(os.Getpid(), fd); err != nil || !got.Unsettled || got.Name != "udp 0.0.0.0:0" {
		t.Errorf("not connected: %+v %v", got, err)
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: 9, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if got, err := FDTarget(os.Getpid(), fd); err != nil || got.Unsettled || got.Name != "udp 127.0.0.1:9" {
		t.Errorf("connected: %+v %v", got, err)
	}
}

// TestConnecting: a socket that asks for a connection is named by the server that does not answer, and not by a port of its own that says nothing.
func TestConnecting(t *testing.T) {
	socket := func(kind int) int {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|kind, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	l := socket(0)
	loopback := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if err := errors.Join(unix.Bind(l, loopback), unix.Listen(l, 0)); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(l)
	if err != nil {
		t.Fatal(err)
	}
	server := at.(*unix.SockaddrInet4)
	for range 8 { // nobody accepts: the queue is full soon
		c := socket(unix.SOCK_NONBLOCK)
		if err := unix.Connect(c, server); err != nil && err != unix.EINPROGRESS {
			t.Fatal(err)
		}
		if !isConnecting(c) {
			continue
		}
		want := fmt.Sprintf("tcp 127.0.0.1:%d", server.Port)
		if got, err := FDTarget(os.Getpid(), c); err != nil || !got.Unsettled || got.Name != want {
			t.Errorf("%+v %v, want %s", got, err, want)
		}
		return
	}
	t.Fatal("eight connections to a server that accepts none")
}

// TestMemoryFilesAndDeletedOnes have names of their own.
func TestMemoryFilesAndDeletedOnes(t *testing.T) {
	fd, err := unix.MemfdCreate("numbers", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	check(t, fd, FDFile, "memfd:numbers")
	f, err := os.Create(filepath.Join(t.TempDir(), "gone"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	before, err := FDTarget(os.Getpid(), int(f.Fd()))
	if err != nil || os.Remove(f.Name()) != nil {
		t.Fatal(err)
	}
	check(t, int(f.Fd()), FDFile, f.Name()+" (deleted)")
	after, err := FDTarget(os.Getpid(), int(f.Fd()))
	if err != nil || after.Inode != before.Inode || after.Dev != before.Dev || after.Inode == 0 {
		t.Errorf("%+v, deleted %+v %v", before, after, err)
	}
	fds, err := FDs(os.Getpid(), 1000)
	if err != nil || !slices.Contains(fds, fd) || !slices.Contains(fds, int(f.Fd())) {
		t.Errorf("%v %v", fds, err)
	}
}

func TestAHostileSocketTableIsBounded(t *testing.T) {
	table := socketTables[0]
	for _, text := range []string{
		"", "\n\n", strings.Repeat("x ", 100), strings.Repeat("y", 200000),
		"0: 0100007F:1F90 00000000:0000 0A 0 0 0 0 0 77", // the inode matches
		"0: zz:1F90 00000000:0000 0A 0 0 0 0 0 77",
		"0: 0100007F 0 0A 0 0 0 0 0 77",
		"0: 010000:1F90 00000000:0000 0A 0 0 0 0 0 77",
	} {
		name, err := findSocket(strings.NewReader(text), table, 77)
		if err == nil && name != "tcp listen 127.0.0.1:8080" {
			t.Errorf("%.40q: %q", text, name)
		}
	}
}

func FuzzHexAddress(f *testing.F) {
	f.Add("0100007F:1F90")
	f.Add("00000000000000000000000001000000:0050")
	f.Fuzz(func(t *testing.T, text string) {
		if a, ok := hexAddress(text); ok && !a.IsValid() {
			t.Errorf("%q: an invalid address was taken for valid", text)
		}
	})
}
