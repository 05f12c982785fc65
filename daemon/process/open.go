package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	"culprit/daemon/process/remote"
	"culprit/daemon/process/resume"
	"culprit/internal/procfs"
)

// A Process is one opened target. Open makes it, Close ends it. After the target has executed another program it is dead for good.
type Process struct {
	pid   int
	start uint64 // clock ticks since boot at which it started
	pidfd int
	mem   raw.File // its FD is -1 if it may not be read (Look)
	exec  execMark
	done  chan struct{}
	watch *os.File // a second pidfd, owned by the goroutine that closes done

	looking bool // opened by Look: never stopped, never written
	holder  Holder

	mu     sync.RWMutex // write-locked to close the descriptors
	closed bool

	mapsMu   sync.Mutex
	lastMaps []raw.Mapping

	tracerMu sync.Mutex
	tracer   *tracer // nil until the first Stop

	transfers atomic.Pointer[Transfers] // nil: nobody knows
	modes     atomic.Pointer[Modes]     // the same
	cuts      int                       // transfers that were cut and not told of yet; on the tracer goroutine only

	known    remote.Known          // to calls in the target; used on the tracer goroutine only
	driven   remote.Runs           // of its threads, for calls
	calls    *resume.Calls         // that stops break into; but for KnowDeadlines and Learn the same
	computed map[int]time.Duration // by thread, when it was last seen to run and to move no data; on the tracer goroutine only
}

// Open takes hold of a running process without disturbing it. The errors are, in the order of the checks: ErrNotFound, ErrKernelThread,
// ErrZombie, *Unsupported (32-bit programs), *Traced, *NotPermitted.
func Open(pid int) (*Process, error) { return OpenFor(pid, nobody{}) }

// OpenFor is Open for somebody who wants to know when the process may be held.
func OpenFor(pid int, h Holder) (*Process, error) {
	return patiently(pid, func(pid int) (*Process, error) { return openOnce(pid, h) })
}

// patiently opens a process in one of two ways.
func patiently(pid int, once func(int) (*Process, error)) (p *Process, err error) {
	// In the middle of an exec or an exit a process looks for a moment as if its main thread had ended, and answers "not permitted".
	// And another culprit holds a process for the length of a stop only: a tracer that is still there after half a second means to stay.
	for try := range 250 {
		p, err = once(pid)
		transient := try < 100 && (errors.Is(err, errLeaderEnded) || errors.Is(err, errEnding)) || errors.As(err, new(*Traced)) || try < 3 && (errors.As(err, new(*NotPermitted)) || errors.Is(err, ErrZombie))
		if !transient {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	return p, err
}

func openOnce(pid int, h Holder) (*Process, error) {
	st, err := checkExists(pid)
	if err != nil {
		return nil, err
	}
	if err := checkClass(pid); err != nil {
		return nil, err
	}
	if err := checkTraced(pid); err != nil {
		return nil, err
	}
	p := &Process{pid: pid, start: st.Start, pidfd: -1, mem: raw.File{FD: -1}, done: make(chan struct{}), holder: h, computed: map[int]time.Duration{}}
	p.calls = resume.New(pid, &p.mem, p.takeFD)
	if err := p.openHandles(); err != nil {
		p.closeHandles()
		return nil, err
	}
	go p.watchExit()
	return p, nil
}

// checkExists does the checks that need no rights.
func checkExists(pid int) (procfs.Stat, error) {
	if pid <= 0 {
		return procfs.Stat{}, fmt.Errorf("process %d: %w", pid, ErrNotFound)
	}
	st, err := procfs.ReadStat(pid)
	if err != nil {
		return st, fmt.Errorf("process %d: %w", pid, ErrNotFound)
	}
	status, err := raw.ReadStatus(pid, 0)
	switch {
	case err != nil:
		return st, fmt.Errorf("process %d: %w", pid, ErrNotFound)
	case status.TGID != pid:
		return st, fmt.Errorf("process %d: %w: it is a thread of process %d, attach to that", pid, ErrNotFound, status.TGID)
	case pid == os.Getpid():
		return st, &raw.Unsupported{What: "attaching to itself", Needs: "another process to measure"}
	case st.IsKernel():
		return st, fmt.Errorf("process %d: %w", pid, ErrKernelThread)
	case status.Dumping:
		return st, errDumping
	case st.State == 'Z' && status.Threads > 1:
		return st, errLeaderEnded
	case st.State == 'Z' || st.State == 'X':
		return st, fmt.Errorf("process %d: %w", pid, ErrZombie)
	}
	return st, nil
}

// errEnding: it has no memory any more.
var errEnding = fmt.Errorf("%w: it is just ending", ErrZombie)

var errDumping = &raw.Unsupported{What: "a process that writes its core dump: its threads run no code any more"}

var errLeaderEnded = &raw.Unsupported{What: "a process whose main thread has ended while others run"}

// checkClass refuses anything but 64-bit x86 programs. Where the file cannot be read the check of permissions will say why.
func checkClass(pid int) error {
	f, err := os.Open(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return nil
	}
	defer f.Close()
	var id [20]byte
	if _, err := io.ReadFull(f, id[:]); err != nil {
		return &raw.Unsupported{What: "a program that is not an ELF file"}
	}
	return raw.SupportedClass(id)
}

func checkTraced(pid int) error {
	s, err := raw.ReadStatus(pid, 0)
	if err != nil {
		return fmt.Errorf("process %d: %w", pid, ErrNotFound)
	}
	if s.Tracer != 0 {
		return traced(pid, s.Tracer)
	}
	return nil
}

// Still reports whether that thread traces the process at this moment.
func (e *Traced) Still() bool {
	s, err := raw.ReadStatus(e.PID, 0)
	return err == nil && s.Tracer == e.Tracer
}

func traced(pid, tracer int) *Traced {
	t := &Traced{PID: pid, Tracer: tracer, TracerName: "unknown"}
	if st, err := procfs.ReadStat(tracer); err == nil {
		t.TracerName = raw.CleanName(string(st.Name))
	}
	return t
}

// openHandles opens what is bound to the process rather than to its number, and asks whether it may be traced.
func (p *Process) openHandles() (err error) {
	if err := p.openPidfd(); err != nil {
		return err
	}
	if p.mem.FD, err = unix.Open(fmt.Sprintf("/proc/%d/mem", p.pid), unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		p.mem.FD = -1
		return p.openFailed("memory", err)
	}
	p.holder.Begin()
	err = trySeize(p.pid)
	p.holder.End()
	if err != nil {
		return p.openFailed("seize", err)
	}
	if p.exec, err = markExec(p.pid); err != nil {
		return p.openFailed("program", err)
	}
	return p.alive()
}

// openPidfd opens the handle of the process, and makes sure that the number still meant the same process.
func (p *Process) openPidfd() (err error) {
	if p.pidfd, err = unix.PidfdOpen(p.pid, unix.PIDFD_NONBLOCK); err != nil {
		p.pidfd = -1
		return p.openFailed("pidfd", err)
	}
	if st, err := procfs.ReadStat(p.pid); err != nil || st.Start != p.start {
		return fmt.Errorf("process %d: %w", p.pid, ErrNotFound)
	}
	dup, err := unix.FcntlInt(uintptr(p.pidfd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	p.watch = os.NewFile(uintptr(dup), "pidfd")
	return nil
}

// openFailed turns the kernel's answer into the reason.
func (p *Process) openFailed(what string, err error) error {
	if p.pidfd < 0 && errors.Is(err, unix.ESRCH) || p.pidfd >= 0 && p.alive() != nil {
		return fmt.Errorf("process %d: %w", p.pid, ErrNotFound)
	}
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("process %d: %w", p.pid, errEnding)
	}
	if s, e := raw.ReadStatus(p.pid, 0); e == nil && s.Tracer != 0 {
		return traced(p.pid, s.Tracer)
	}
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		if _, err := checkExists(p.pid); err != nil {
			return err // it has just ended
		}
		return explainDenied(gatherFacts(p.pid))
	}
	return fmt.Errorf("process %d: %s: %w", p.pid, what, err)
}

// PID is the process id.
func (p *Process) PID() int { return p.pid }

// Start is when the process has started, in clock ticks since boot: with its number it names the process for good.
func (p *Process) Start() uint64 { return p.start }

// Done is closed when the target has ended (or when the Process is closed).
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait blocks until the target has ended or the Process is closed.
func (p *Process) Wait() { <-p.done }

// watchExit waits in the runtime's poller, not in a thread.
func (p *Process) watchExit() {
	defer close(p.done)
	conn, err := p.watch.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Read(func(fd uintptr) bool { return readable(int(fd)) })
}

// Signal sends a signal to the target; never to another process that took over its number.
func (p *Process) Signal(sig unix.Signal) error {
	release, err := p.use()
	if err != nil {
		return err
	}
	defer release()
	return p.gone(unix.PidfdSendSignal(p.pidfd, sig, nil, 0))
}

// Close lets go of the target. It waits for a Stop that is under way. Closing twice is harmless.
func (p *Process) Close() error {
	p.mu.Lock()
	first := !p.closed
	p.closed = true
	p.mu.Unlock()
	if !first {
		return nil
	}
	p.tracerMu.Lock()
	t := p.tracer
	p.tracer = nil
	p.tracerMu.Unlock()
	if t != nil {
		t.shutdown()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closeHandles()
	return nil
}

func (p *Process) closeHandles() {
	for _, fd := range []*int{&p.pidfd, &p.mem.FD} {
		if *fd >= 0 {
			unix.Close(*fd)
			*fd = -1
		}
	}
	if p.watch != nil {
		p.watch.Close()
	}
}
