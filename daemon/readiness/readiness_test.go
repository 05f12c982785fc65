package readiness

import (
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"culprit/daemon/kernel"
	"culprit/daemon/process"
)

// ownMemory reads the test's own memory as that of any process.
type ownMemory struct{}

func (ownMemory) ReadMem(addr process.Addr, b []byte) error {
	local := []unix.Iovec{{Base: &b[0], Len: uint64(len(b))}}
	_, err := unix.ProcessVMReadv(os.Getpid(), local, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}, 0)
	return err
}

// blocked runs a call that waits in a thread of its own, and tells what the kernel says of it. The call must end by itself.
func blocked(t *testing.T, call func()) kernel.BlockedCall {
	t.Helper()
	tid, done := make(chan int, 1), make(chan bool)
	go func() {
		runtime.LockOSThread()
		tid <- unix.Gettid()
		call()
		close(done)
	}()
	t.Cleanup(func() { <-done })
	for id, end := <-tid, time.Now().Add(5*time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		c, err := kernel.Blocked(os.Getpid(), id)
		if err != nil {
			t.Fatal(err)
		}
		switch c.NR {
		case unix.SYS_POLL, unix.SYS_PSELECT6, unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_PWAIT:
			return c
		}
	}
	t.Fatal("the thread does not wait")
	return kernel.BlockedCall{}
}

const waitFor = 300 // ms

// The ways to wait for descriptors.
var ways = map[string]func(fds []int32){
	"poll": func(fds []int32) {
		p := make([]unix.PollFd, len(fds)+1)
		for i, fd := range fds {
			p[i] = unix.PollFd{Fd: fd, Events: unix.POLLPRI}
		}
		unix.Syscall(unix.SYS_POLL, uintptr(unsafe.Pointer(&p[0])), uintptr(len(fds)), waitFor)
	},
	"select": func(fds []int32) {
		var set unix.FdSet
		most := 0
		for _, fd := range fds {
			set.Set(int(fd))
			most = max(most, int(fd)+1)
		}
		limit := unix.NsecToTimespec(waitFor * 1e6)
		unix.Syscall6(unix.SYS_PSELECT6, uintptr(most), 0, 0, uintptr(unsafe.Pointer(&set)), uintptr(unsafe.Pointer(&limit)), 0)
	},
	"epoll": func(fds []int32) {
		poller, _ := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
		defer unix.Close(poller)
		for _, fd := range fds {
			unix.EpollCtl(poller, unix.EPOLL_CTL_ADD, int(fd), &unix.EpollEvent{Events: unix.EPOLLPRI})
		}
		var e [1]unix.EpollEvent
		unix.Syscall6(unix.SYS_EPOLL_WAIT, uintptr(poller), uintptr(unsafe.Pointer(&e)), 1, waitFor, 0, 0)
	},
}

// TestWaits: what a thread waits for, by the descriptors that it waits for, in each of the ways to wait.
func TestWaits(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	a, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	number := func(x any) int32 {
		raw, err := x.(interface {
			SyscallConn() (syscall.RawConn, error)
		}).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		fd := int32(-1)
		raw.Control(func(n uintptr) { fd = int32(n) })
		return fd
	}
	listener, client, server := number(l), number(c), number(a)
	counter, _ := unix.Eventfd(0, unix.EFD_CLOEXEC)
	defer unix.Close(counter)
	timer, _ := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)
	defer unix.Close(timer)
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	pair := int32(ends[0])
	defer unix.Close(ends[0])
	defer unix.Close(ends[1])
	woken := map[string]Kind{"poll": Answer, "select": Answer, "epoll": Served} // with a connection to wait for, and an event that ends the wait
	r := &Reader{PID: os.Getpid(), Memory: ownMemory{}}
	for way, wait := range ways {
		for _, k := range []struct {
			fds  []int32
			kind Kind
			fd   int
			by   string
		}{
			{nil, Nothing, -1, ""},
			{[]int32{client}, Answer, int(client), ""},
			{[]int32{server}, Served, int(server), ""},
			{[]int32{listener}, Served, int(listener), ""},
			{[]int32{client, server}, Served, min(int(client), int(server)), ""},
			{[]int32{client, int32(counter)}, woken[way], int(client), "eventfd"},
			{[]int32{client, int32(counter), int32(timer)}, Served, int(client), "eventfd"},
			{[]int32{pair, int32(counter)}, Served, int(pair), "eventfd"},
			{[]int32{int32(counter)}, Events, -1, "eventfd"},
			{[]int32{int32(counter), int32(timer)}, Events, -1, ""},
			{[]int32{int32(timer)}, Timer, -1, ""},
		} {
			got := r.Of(blocked(t, func() { wait(k.fds) }))
			if got.Kind != k.kind || got.By != k.by || k.fd < 0 != (got.FD < 0) || len(k.fds) == 1 && got.FD != k.fd {
				t.Errorf("%s for %v: %+v, want %+v", way, k.fds, got, k)
			}
		}
	}
	many := make([]int32, most+1)
	if got := r.Of(blocked(t, func() { ways["poll"](many) })); got.Kind != Unknown {
		t.Errorf("many descriptors: %+v", got)
	}
	if got := r.Of(kernel.BlockedCall{NR: unix.SYS_POLL, Args: [6]uint64{8, 3}}); got.Kind != Unknown {
		t.Errorf("memory that cannot be read: %+v", got)
	}
	if got := r.Of(kernel.BlockedCall{NR: unix.SYS_READ}); got.Kind != Unknown {
		t.Errorf("a read: %+v", got)
	}
}
