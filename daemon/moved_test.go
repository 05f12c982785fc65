package daemon

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"culprit/daemon/patch"
	"culprit/grid"
	"culprit/internal/fault"
	"culprit/internal/testprog"
	"culprit/trampoline"
)

// movedTarget starts a program that moves its own code when it is told to.
func movedTarget(t *testing.T) *testprog.Prog {
	t.Helper()
	return testprog.StartTarget(t, testprog.Build(t, "testdata/odd/remap.c"))
}

// tellMoved tells it something and waits until it has done so.
func tellMoved(t *testing.T, p *testprog.Prog, line string) {
	t.Helper()
	fmt.Fprintln(p.Stdin, line)
	p.Expect(t, "DONE "+strings.Fields(line)[0], 5*time.Second)
}

// countMoved counts the calls of functions.
func countMoved(t *testing.T, d *Daemon, names ...string) {
	t.Helper()
	var s sums
	var keys []grid.PairKey
	for _, n := range names {
		keys = append(keys, key(t, "procedure_calls", "/Code/remap.c/"+n))
	}
	d.mustEnable(t, &s, keys...)
}

// endMoved has it end and wants it unharmed.
func endMoved(t *testing.T, p *testprog.Prog) {
	t.Helper()
	if got := p.Stop(t); got != "43f2ea61afdc9fbe" {
		t.Errorf("hash %s", got)
	}
}

// TestCodeMoved: the code of a program that has moved it, or has a copy of it, is as before when the probes are out, wherever it is
// then. So it is if something goes wrong right after the old bytes were put back where it had moved.
func TestCodeMoved(t *testing.T) {
	for _, steps := range [][]string{{"over"}, {"over", "back"}, {"copy"}} {
		t.Run(strings.Join(steps, " "), func(t *testing.T) { moveWhileCounted(t, steps) })
	}
	t.Run("fault", func(t *testing.T) {
		if err := fault.Set("unload.taken-back:error"); err != nil {
			t.Fatal(err)
		}
		defer fault.Set("")
		moveWhileCounted(t, []string{"over"})
	})
}

// TestCodeDropped: a program whose own copies of pages of code go, or that maps the file's code anew, loses its probes. They are inserted again,
// and the value says what it misses.
func TestCodeDropped(t *testing.T) {
	for _, step := range []string{"drop", "back"} {
		t.Run(step, func(t *testing.T) {
			p := movedTarget(t)
			d := attachTo(t, p.PID)
			leaf := key(t, "procedure_calls", "/Code/remap.c/leaf")
			var s sums
			d.mustEnable(t, &s, leaf)
			counts := func() bool {
				before := s.of(leaf)
				time.Sleep(100 * time.Millisecond)
				d.passes.tick()
				return s.of(leaf) > before
			}
			if !counts() || d.Notes(leaf) != "" {
				t.Fatalf("it does not count from the beginning, or says %q", d.Notes(leaf))
			}
			tellMoved(t, p, step)
			if note := d.Notes(leaf); !strings.Contains(note, "dropped or replaced its code (seen 1 times)") {
				t.Errorf("it says %q", note)
			}
			d.discover()
			d.passes.tick()
			if !counts() {
				t.Error("it does not count on")
			}
			if note := d.Notes(leaf); !strings.Contains(note, "(seen 1 times)") {
				t.Errorf("it says %q when it counts again", note)
			}
			detachClean(t, d, p.PID)
			endMoved(t, p)
		})
	}
}

func moveWhileCounted(t *testing.T, steps []string) {
	p := movedTarget(t)
	d := attachTo(t, p.PID)
	countMoved(t, d, "leaf", "work")
	for _, s := range steps {
		tellMoved(t, p, s)
		d.discover()
	}
	detachClean(t, d, p.PID)
	if steps[len(steps)-1] == "copy" {
		tellMoved(t, p, "over")
		if r, err := patch.Verify(p.PID); err != nil || !r.Clean() {
			t.Errorf("%+v, %v", r, err)
		}
	}
	endMoved(t, p)
}

// TestVerifySeesMovedCode: what differs from the file is told where the code lies in memory of the program's own, too.
func TestVerifySeesMovedCode(t *testing.T) {
	p := movedTarget(t)
	tellMoved(t, p, "over")
	if r, err := patch.Verify(p.PID); err != nil || !r.Clean() {
		t.Fatalf("%+v, %v", r, err)
	}
	tellMoved(t, p, "spoil")
	if r, err := patch.Verify(p.PID); err != nil || r.DifferingBytes != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	p.Kill()
}

// TestHookedCode: a program that hooks its own function while it is probed takes our jump into a trampoline of its own. That leads into
// ours, which therefore stay, and it is said; when it is gone everything goes.
func TestHookedCode(t *testing.T) {
	t.Parallel()
	p := movedTarget(t)
	d := attachTo(t, p.PID)
	countMoved(t, d, "leaf")
	tellMoved(t, p, "hook")
	clean, err := d.Detach()
	var kept *patch.KeptError
	if clean || !errors.As(err, &kept) || kept.Places != 1 {
		t.Fatalf("clean %v, %v", clean, err)
	}
	r, err := patch.Verify(p.PID)
	if err != nil || r.DifferingBytes != 0 || r.Leads != 1 || r.Mappings == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	tellMoved(t, p, "call") // what it has made still works
	tellMoved(t, p, "unhook")
	detachClean(t, d, p.PID)
	endMoved(t, p)
}

// TestHistory: what the ledger has forgotten is remembered until its place is taken.
func TestHistory(t *testing.T) {
	mem := make([]byte, 4*trampoline.EntrySize)
	l := trampoline.NewLedger(mem)
	for i := range 3 {
		if _, err := l.Put(trampoline.Entry{Addr: uint64(i + 1), Len: 5}); err != nil {
			t.Fatal(err)
		}
	}
	l.Free(1)
	if e, _ := trampoline.Entries(mem); len(e) != 2 || len(trampoline.History(mem)) != 3 {
		t.Errorf("%d in use, %d known", len(e), len(trampoline.History(mem)))
	}
	if _, err := l.Put(trampoline.Entry{Addr: 9, Len: 5}); err != nil {
		t.Fatal(err)
	}
	if h := trampoline.History(mem); len(h) != 3 || h[1].Addr != 9 {
		t.Errorf("%+v", h)
	}
	mem[0] ^= 1
	if h := trampoline.History(mem); len(h) != 2 {
		t.Errorf("a damaged entry is believed: %+v", h)
	}
}
