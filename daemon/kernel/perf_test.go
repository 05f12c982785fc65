package kernel

//test:alone

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

func sampler(t *testing.T, pid, hz int) *Sampler {
	t.Helper()
	s, err := NewSampler(pid, hz)
	var refused *NotPermitted
	var missing *Unsupported
	if errors.As(err, &refused) || errors.As(err, &missing) {
		require.Skip(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// collect reads for a while, and copies the stacks, which are valid during Read only.
func collect(s *Sampler, d time.Duration) (samples []Sample) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
		s.Read(func(x Sample) {
			x.Stack = bytes.Clone(x.Stack)
			samples = append(samples, x)
		})
	}
	return samples
}

// symbolRange returns where a function lies in the process.
func symbolRange(t *testing.T, pid int, name string) (lo, hi uint64) {
	t.Helper()
	exe := fmt.Sprintf("/proc/%d/exe", pid)
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	bias := loadBias(t, pid)
	for _, s := range symbols {
		if s.Name == name {
			return bias + s.Value, bias + s.Value + s.Size
		}
	}
	t.Fatalf("no symbol %s", name)
	return 0, 0
}

// loadBias is where the first mapping of the executable begins.
func loadBias(t *testing.T, pid int) uint64 {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	var lo uint64
	if _, err := fmt.Sscanf(string(maps), "%x-", &lo); err != nil {
		t.Fatal(err)
	}
	return lo
}

func TestSamplesOfASpinningThread(t *testing.T) {
	noLeak(t)
	p := target(t, "cpu.c")
	const hz = 200
	s := sampler(t, p.PID, hz)
	before, err := ReadThread(p.PID, p.PID)
	if err != nil {
		t.Fatal(err)
	}
	samples := collect(s, time.Second)
	after, err := ReadThread(p.PID, p.PID)
	if err != nil {
		t.Fatal(err)
	}
	want := (after.Run - before.Run).Seconds() * hz
	if n := float64(len(samples)); n < want*0.8 || n > want*1.2 {
		t.Errorf("%v samples, expected about %v (lost %d, throttled %d)", n, want, s.Lost(), s.Throttled())
	}
	lo, hi := symbolRange(t, p.PID, "distance")
	inside := 0
	for _, x := range samples {
		if x.PID != p.PID || x.TID != p.PID || x.StackAddr != x.Regs.SP || len(x.Stack) == 0 {
			t.Fatalf("a strange sample: %+v", x)
		}
		if x.Regs.IP >= lo && x.Regs.IP < hi {
			inside++
		}
	}
	if inside < len(samples)*9/10 {
		t.Errorf("%d of %d samples are in distance, which uses nearly all the time", inside, len(samples))
	}
	checkReturnAddresses(t, p, samples)
	checkStackMemory(t, p, samples)
	p.Stop(t)
}

// checkReturnAddresses looks for the callers of distance in the sampled stacks.
func checkReturnAddresses(t *testing.T, p *testprog.Prog, samples []Sample) {
	t.Helper()
	for _, caller := range []string{"nearest", "handle", "run_batch", "main"} {
		lo, hi := symbolRange(t, p.PID, caller)
		found := 0
		for _, x := range samples {
			if holdsWordIn(x.Stack, lo, hi) {
				found++
			}
		}
		if found < len(samples)*8/10 {
			t.Errorf("%d of %d stacks hold a return address in %s", found, len(samples), caller)
		}
	}
}

func holdsWordIn(stack []byte, lo, hi uint64) bool {
	for i := 0; i+8 <= len(stack); i += 8 {
		if w := binary.LittleEndian.Uint64(stack[i:]); w >= lo && w < hi {
			return true
		}
	}
	return false
}

// checkStackMemory compares what the program was given on its stack when it started, which does not change, with the memory of the process.
func checkStackMemory(t *testing.T, p *testprog.Prog, samples []Sample) {
	t.Helper()
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", p.PID))
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	first := stackStart(t, p.PID)
	compared := 0
	for _, x := range samples {
		given := x.Stack[min(first-x.StackAddr, uint64(len(x.Stack))):] // less, where a page could not be read at once
		now := make([]byte, len(given))
		if _, err := mem.ReadAt(now, int64(first)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(now, given) {
			t.Fatalf("the sampled stack at %#x is not what is in memory there", x.StackAddr)
		}
		if len(bytes.Trim(given, "\x00")) > 0 {
			compared++
		}
	}
	if compared < len(samples)*8/10 {
		t.Errorf("%d of %d stacks reach to what the program was given", compared, len(samples))
	}
}

// stackStart is where a process found the number of its arguments, with these and its environment above.
func stackStart(t *testing.T, pid int) (addr uint64) {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	const startStack = 28 - 3 // field of proc(5), behind the name
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if addr, err = strconv.ParseUint(fields[startStack], 10, 64); err != nil || addr == 0 {
		t.Fatalf("the stack of %d began at %#x, %v", pid, addr, err)
	}
	return addr
}

func TestRefreshFollowsNewThreads(t *testing.T) {
	noLeak(t)
	p := target(t, "calls.c", "200000000", "3")
	s := sampler(t, p.PID, 500)
	if s.Threads() != 4 {
		t.Errorf("%d threads", s.Threads())
	}
	if err := s.Refresh([]int{p.PID}); err != nil || s.Threads() != 1 {
		t.Fatalf("%d threads, %v", s.Threads(), err)
	}
	p.Say(t, "go")
	time.Sleep(100 * time.Millisecond)
	s.Read(func(Sample) {})
	for _, x := range collect(s, 200*time.Millisecond) {
		if x.TID != p.PID {
			t.Fatalf("a sample of thread %d, which is not followed any more", x.TID)
		}
	}
	if err := s.Refresh(nil); err != nil || s.Threads() != 4 || s.Unsampled() != 0 {
		t.Fatalf("%d threads, %v", s.Threads(), err)
	}
	tids := map[int]int{}
	for _, x := range collect(s, 500*time.Millisecond) {
		tids[x.TID]++
	}
	if len(tids) < 3 {
		t.Errorf("samples by thread: %v", tids)
	}
}

func TestSamplerOfChurningThreads(t *testing.T) {
	noLeak(t)
	p := target(t, "churn.c")
	s := sampler(t, p.PID, 99)
	for range 100 {
		if err := s.Refresh(nil); err != nil {
			t.Fatal(err)
		}
		s.Read(func(Sample) {})
	}
	p.Stop(t)
	if err := s.Refresh(nil); !errors.Is(err, ErrGone) {
		t.Errorf("after the end: %v", err)
	}
}

func TestSamplerWithoutDescriptors(t *testing.T) {
	noLeak(t)
	p := target(t, "mutex.c", "6")
	s := sampler(t, p.PID, 99)
	if err := s.Refresh([]int{}); err != nil || s.open != 0 {
		t.Fatalf("%d open, %v", s.open, err)
	}
	s.maxOpen = 3 * len(s.rings)
	if err := s.Refresh(nil); err != nil || s.Threads() != 3 || s.Unsampled() != 4 {
		t.Errorf("%d followed, %d not, %v", s.Threads(), s.Unsampled(), err)
	}
}

func TestSamplerOfNobody(t *testing.T) {
	p := target(t, "cpu.c")
	p.Kill()
	if _, err := NewSampler(p.PID, 99); !errors.Is(err, ErrGone) {
		t.Errorf("%v", err)
	}
	if _, err := NewSampler(p.PID, 0); err == nil || errors.Is(err, ErrGone) {
		t.Errorf("0 Hz: %v", err)
	}
}

func TestARefusalSaysWhatHelps(t *testing.T) {
	s := &Sampler{pid: 17}
	err := s.explain(unix.EACCES)
	var refused *NotPermitted
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "perf_event_paranoid") || !errors.Is(err, unix.EACCES) {
		t.Errorf("%v", err)
	}
	var missing *Unsupported
	if err := s.explain(unix.ENOSYS); !errors.As(err, &missing) {
		t.Errorf("%v", err)
	}
}

func TestPausedSamplerIsSilent(t *testing.T) {
	noLeak(t)
	p := target(t, "cpu.c")
	s := sampler(t, p.PID, 200)
	s.Pause()
	s.Read(func(Sample) {})
	if n := len(collectOnly(s, 300*time.Millisecond)); n != 0 {
		t.Errorf("%d samples while paused", n)
	}
	s.Resume()
	if n := len(collectOnly(s, 500*time.Millisecond)); n == 0 {
		t.Error("no samples after Resume")
	}
	q, err := NewSampler(p.PID, 200)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	q.Pause()
	if err := q.Refresh([]int{}); err != nil { // forget the thread, and find it again while paused
		t.Fatal(err)
	}
	if err := q.Refresh([]int{p.PID}); err != nil {
		t.Fatal(err)
	}
	q.Read(func(Sample) {})
	if n := len(collectOnly(q, 300*time.Millisecond)); n != 0 {
		t.Errorf("%d samples of a thread that came during the pause", n)
	}
	q.Resume()
	if n := len(collectOnly(q, 500*time.Millisecond)); n == 0 {
		t.Error("no samples of it after Resume")
	}
}

// TestSamplingOverhead logs what samples cost the target, and holds that it is small. It samples much faster than one
// would, so that the cost stands out of the noise, and counts work done per processor time.
func TestSamplingOverhead(t *testing.T) {
	const hz, usual, d = 4000, 250, 700 * time.Millisecond
	rate := func(sampled bool) (perSecond float64, samples int) {
		p := target(t, "cpu.c")
		if sampled {
			samples = len(collectOnly(sampler(t, p.PID, hz), d))
		} else {
			time.Sleep(d)
		}
		p.Signal(t, unix.SIGSTOP) // the times are still there to be read
		times, err := ReadThread(p.PID, p.PID)
		if err != nil {
			t.Fatal(err)
		}
		p.Signal(t, unix.SIGCONT)
		p.Stop(t)
		return float64(p.Counts()["run_batch"]) / times.Run.Seconds(), samples
	}
	var cost float64 = 1
	var n int
	for range 3 { // what others do on the machine only makes it slower
		without, _ := rate(false)
		with, samples := rate(true)
		cost, n = min(cost, max(0, 1-with/without)), n+samples
	}
	t.Logf("%d samples at %d Hz cost the target %.2f %% of its speed: %.3f %% at %d Hz", n, hz, cost*100,
		cost*100*usual/hz, usual)
	if n < 100 || cost*usual/hz > 0.02 {
		t.Errorf("%d samples; at %d Hz they would cost %.1f %%", n, usual, cost*100*usual/hz)
	}
}

// collectOnly is collect without the copies.
func collectOnly(s *Sampler, d time.Duration) (times []uint64) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		s.Read(func(x Sample) { times = append(times, x.Time) })
	}
	return times
}

// record builds a sample as the kernel writes it.
func record(stack []byte, dynamic uint64) []byte {
	var b []byte
	word := func(v uint64) { b = binary.LittleEndian.AppendUint64(b, v) }
	word(0xffffffff81000000)
	word(17 | 18<<32)
	word(123456)
	word(1)
	word(abi64)
	for i := range uint64(20) {
		word(100 + i)
	}
	word(uint64(len(stack)))
	if len(stack) > 0 {
		b = append(b, stack...)
		word(dynamic)
	}
	return b
}

func TestParseSample(t *testing.T) {
	stack := []byte("0123456789abcdef")
	s, ok := parseSample(unix.PERF_RECORD_MISC_USER, record(stack, 8))
	if !ok || s.PID != 17 || s.TID != 18 || s.Time != 123456 || s.CPU != 1 || string(s.Stack) != "01234567" {
		t.Fatalf("%+v %v", s, ok)
	}
	if s.Regs.AX != 100 || s.Regs.SP != 107 || s.Regs.IP != 108 || s.Regs.SS != 111 || s.Regs.R8 != 112 || s.Regs.R15 != 119 {
		t.Errorf("%+v", s.Regs)
	}
	if s, ok := parseSample(unix.PERF_RECORD_MISC_USER, record(stack, 1<<40)); !ok || len(s.Stack) != len(stack) {
		t.Errorf("more stack than there is: %+v %v", s, ok)
	}
	if s, ok := parseSample(unix.PERF_RECORD_MISC_USER, record(nil, 0)); !ok || s.Stack != nil {
		t.Errorf("no stack: %+v %v", s, ok)
	}
	whole := record(stack, 8)
	for n := range whole {
		if _, ok := parseSample(unix.PERF_RECORD_MISC_USER, whole[:n]); ok {
			t.Errorf("%d bytes of %d were taken for a sample", n, len(whole))
		}
	}
}

func FuzzParseSample(f *testing.F) {
	f.Add(record([]byte("01234567"), 8))
	f.Add(record(nil, 0))
	f.Fuzz(func(t *testing.T, body []byte) {
		if s, ok := parseSample(unix.PERF_RECORD_MISC_USER, body); ok && len(s.Stack) > len(body) {
			t.Errorf("a stack of %d bytes from %d", len(s.Stack), len(body))
		}
	})
}

// fakeRing is a ring in ordinary memory.
func fakeRing(size int) *ring {
	positions := make([]uint64, 2)
	return &ring{data: make([]byte, size), head: &positions[0], tail: &positions[1]}
}

func (r *ring) put(kind uint32, body []byte) {
	var b []byte
	b = binary.LittleEndian.AppendUint32(b, kind)
	b = binary.LittleEndian.AppendUint16(b, unix.PERF_RECORD_MISC_USER)
	b = binary.LittleEndian.AppendUint16(b, uint16(headerSize+len(body)))
	for i, c := range append(b, body...) {
		r.data[(*r.head+uint64(i))&uint64(len(r.data)-1)] = c
	}
	*r.head += uint64(len(b) + len(body))
}

func TestRecordsThatWrapRound(t *testing.T) {
	r := fakeRing(4096)
	scratch := make([]byte, 1<<16)
	for i := range 1000 {
		want := bytes.Repeat([]byte{byte(i)}, 8*(1+i%100))
		r.put(uint32(i), want)
		n := 0
		r.drain(scratch, func(h header, body []byte) {
			n++
			if h != (header{uint32(i), unix.PERF_RECORD_MISC_USER}) || !bytes.Equal(body, want) {
				t.Fatalf("record %d came back as %v %x", i, h, body)
			}
		})
		if n != 1 || *r.tail != *r.head || r.broken != 0 {
			t.Fatalf("record %d: %d came, head %d, tail %d, %d broken", i, n, *r.head, *r.tail, r.broken)
		}
	}
}

func TestABrokenRingIsLeftBehind(t *testing.T) {
	scratch := make([]byte, 1<<16)
	for _, size := range []uint16{0, 7, 4000} {
		r := fakeRing(4096)
		r.put(1, make([]byte, 24))
		binary.LittleEndian.PutUint16(r.data[6:], size)
		r.drain(scratch, func(header, []byte) { t.Errorf("size %d was believed", size) })
		if r.broken != 1 || *r.tail != *r.head {
			t.Errorf("size %d: %d broken, head %d, tail %d", size, r.broken, *r.head, *r.tail)
		}
	}
	r := fakeRing(4096)
	*r.head = 1 << 40
	r.drain(scratch, func(header, []byte) { t.Error("a head out of range was believed") })
	if r.broken != 1 {
		t.Errorf("%d broken", r.broken)
	}
}

func TestTheRecordFits(t *testing.T) {
	if n := headerSize + len(record(make([]byte, StackBytes), 0)); n > 0xffff || StackBytes%8 != 0 {
		t.Errorf("a record of %d bytes", n)
	}
	if unsafe.Sizeof(unix.PerfEventAttr{}) < 96 {
		t.Error("perf_event_attr has no room for registers and stack")
	}
}
