package process

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"culprit/daemon/process/raw"
	"culprit/internal/testprog"
)

// TestLookReadsAndNothingElse: a process that is looked at can be read, also while another one traces it; it can be neither stopped nor
// written, and its text is what it was.
func TestLookReadsAndNothingElse(t *testing.T) {
	tp := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/selfcheck.c"))
	if err := attachBriefly(tp.PID); err != nil {
		t.Fatal(err)
	}
	p, err := Look(tp.PID)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if !p.looking || p.Blind() {
		t.Errorf("looking %v, blind %v", p.looking, p.Blind())
	}
	maps, err := p.Maps()
	if err != nil || len(maps) == 0 {
		t.Fatal(err)
	}
	buf := make([]byte, 16)
	for _, m := range maps {
		if m.Executable() && m.FileBacked() {
			if err := p.ReadMem(m.Start, buf); err != nil {
				t.Errorf("%s: %v", m.Path, err)
			}
		}
		if m.Perms&raw.Write == 0 {
			continue
		}
		if err := p.WriteData(m.Start, buf[:1]); err == nil || !strings.Contains(err.Error(), "for reading only") {
			t.Errorf("WriteData: %v", err)
		}
	}
	var unsupported *raw.Unsupported
	if _, err := p.Stop(context.Background(), StopOptions{}, func(*World) error { return nil }); !errors.As(err, &unsupported) {
		t.Errorf("Stop: %v", err)
	}
	if err := p.CheckExec(); err != nil {
		t.Error(err)
	}
	tp.Stop(t)
	<-p.Done()
	if err := p.CheckExec(); !errors.Is(err, ErrTargetExited) {
		t.Errorf("after its end: %v", err)
	}
}

// attachBriefly makes sure that the process may be traced at all, so that what Look refuses is its own doing.
func attachBriefly(pid int) error {
	p, err := Open(pid)
	if err != nil {
		return err
	}
	return p.Close()
}

// TestLookRefuses what is no program to look at.
func TestLookRefuses(t *testing.T) {
	for _, pid := range []int{0, -1, 1 << 30} {
		if _, err := Look(pid); !errors.Is(err, ErrNotFound) {
			t.Errorf("Look(%d): %v", pid, err)
		}
	}
	if _, err := Look(os.Getpid()); !errors.As(err, new(*raw.Unsupported)) {
		t.Errorf("itself: %v", err)
	}
	if comm, err := os.ReadFile("/proc/2/comm"); err == nil && strings.TrimSpace(string(comm)) == "kthreadd" {
		if _, err := Look(2); !errors.Is(err, ErrKernelThread) {
			t.Errorf("a thread of the kernel: %v", err)
		}
	}
}
