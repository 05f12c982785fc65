package daemon

import (
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"culprit/daemon/program"
	"culprit/grid"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// unwinding are functions of the C library and of the compiler's that look at stacks or leave functions, or run in handlers.
var unwinding = []string{"backtrace", "_Unwind_Backtrace", "_Unwind_ForcedUnwind", "_Unwind_Resume", "__libc_siglongjmp", "__longjmp_chk",
	"siglongjmp", "longjmp", "__sigsetjmp", "pthread_cancel", "pthread_create", "pthread_exit", "raise", "malloc", "free", "calloc",
	"memcpy", "__memmove_avx_unaligned_erms", "nanosleep", "clock_nanosleep", "sigaltstack", "pthread_sigmask"}

// TestLeavingOtherwise instruments, in and out, every function of a program that is left by longjmp, by signal handlers and by
// cancellation, and whose stacks are walked, with what does that in the libraries: it sees no difference.
func TestLeavingOtherwise(t *testing.T) {
	for _, b := range []build{builds[0], builds[1], builds[4], builds[5]} {
		t.Run(b.name, func(t *testing.T) {
			bin := testprog.Build(t, "daemon/testdata/unwinder.c", b.flags...)
			want := undisturbed(t, bin)
			p := testprog.StartTarget(t, bin)
			p.MustBeat(t, 5*time.Second) // its first stacks are its own
			d := attachTo(t, p.PID)
			known := func(f *program.Function) bool {
				return f.Obj != d.targets[0].Main() && slices.Contains(unwinding, f.Fn.Name)
			}
			var s sums
			times, most := 0, 0
			for until := time.Now().Add(time.Duration(rounds(300, 20000)) * time.Millisecond); time.Now().Before(until); times++ {
				libs := enableAll(t, d, &s, append(functionsOf(d, "procedure_calls", known), functionsOf(d, "exec_time_inclusive", known)...))
				_, n := toggleAll(t, d, p)
				most, times = max(most, len(libs)), times+n
				d.Disable(libs)
			}
			detachClean(t, d, p.PID)
			if got := p.Stop(t); got != want {
				t.Errorf("hash %s, undisturbed %s", got, want)
			}
			t.Logf("%d pairs with functions of libraries, %d times in and out; %v", most, times, p.Counts())
		})
	}
}

var gdbFrame = regexp.MustCompile(`(?m)^#\d+ +(?:0x[0-9a-f]+ in )?([A-Za-z_][A-Za-z0-9_@.]*) \(`)

// framesOf are the functions on the main thread's stack, as a debugger sees them while the program sleeps.
func framesOf(t *testing.T, gdb string, p *testprog.Prog) (names []string) {
	t.Helper()
	p.Say(t, "sleep")
	p.Expect(t, "ASLEEP", 10*time.Second)
	out, err := exec.Command(gdb, "-nx", "-q", "-batch", "-p", strconv.Itoa(p.PID), "-ex", "set debuginfod enabled off", "-ex", "thread 1", "-ex", "bt").CombinedOutput()
	if err != nil {
		t.Fatalf("gdb: %v\n%s", err, out)
	}
	for _, m := range gdbFrame.FindAllStringSubmatch(string(out), -1) {
		names = append(names, m[1])
	}
	if !strings.Contains(strings.Join(names, " "), "sleep_deep sleep_deep sleep_deep sleep_deep sleep_outermost main") {
		t.Errorf("gdb shows %q\n%s", names, out)
	}
	p.Say(t, "wake")
	p.Expect(t, "AWAKE", 20*time.Second)
	return names[max(0, slices.Index(names, "sleep_deep")):] // below it lies what it waits with
}

// TestDebuggerSeesTrueFrames: a debugger that looks at a program with probes in every function shows the frames that it shows
// without them, and takes nothing away from either.
func TestDebuggerSeesTrueFrames(t *testing.T) {
	t.Parallel()
	gdb := require.Tool(t, "gdb")
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/unwinder.c"))
	plain := framesOf(t, gdb, p)
	d := attachTo(t, p.PID)
	var s sums
	keys := enableAll(t, d, &s, append(functionsOf(d, "procedure_calls", inMain(d)), functionsOf(d, "exec_time_inclusive", inMain(d))...))
	sleeper := nameOf(t, d, "procedure_calls", "sleep_deep")
	if !slices.Contains(keys, sleeper) {
		t.Fatal("sleep_deep has no probe")
	}
	if probed := framesOf(t, gdb, p); !slices.Equal(plain, probed) {
		t.Errorf("gdb shows %q, without probes %q", probed, plain)
	}
	d.Disable([]grid.PairKey{sleeper})
	if n := s.of(sleeper); n != 4 {
		t.Errorf("%v calls of sleep_deep counted, there were 4", n)
	}
	t.Logf("%d pairs; %q", len(keys), plain)
	detachClean(t, d, p.PID)
	p.Stop(t)
}
