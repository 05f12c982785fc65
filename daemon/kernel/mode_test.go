package kernel

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSamplesTellTheMode has a program compute, make system calls and touch fresh memory, and holds the modes of samples against the
// function that each was taken in.
func TestSamplesTellTheMode(t *testing.T) {
	t.Run("threads", func(t *testing.T) {
		p := target(t, "modes.c")
		s := sampler(t, p.PID, 499)
		if s.UserOnly() {
			t.Skip("the kernel allows samples in user mode only")
		}
		p.Say(t, "go")
		holdModes(t, p.PID, collect(s, 3*time.Second))
	})
	eachWay(t, func(t *testing.T, open func(t *testing.T) *Rings) {
		p := target(t, "modes.c")
		r := open(t)
		sampled(t, r, p.PID, 499)
		p.Say(t, "go")
		holdModes(t, p.PID, collect(&Sampler{Rings: r}, 3*time.Second))
	})
}

// holdModes compares the modes of the samples that were taken in a function with what that does.
func holdModes(t *testing.T, pid int, samples []Sample) {
	t.Helper()
	for _, f := range []struct {
		name         string
		mostly, none Mode // at least three of four samples have the one, at most one of twenty the other
	}{
		{"compute", UserMode, CallMode},
		{"compute", UserMode, FaultMode},
		{"ask", CallMode, FaultMode},
		{"touch", FaultMode, CallMode},
		{"give_back", CallMode, FaultMode},
	} {
		lo, hi := symbolRange(t, pid, f.name)
		n, all := map[Mode]int{}, 0
		for _, x := range samples {
			if x.PID == pid && x.Regs.IP >= lo && x.Regs.IP < hi {
				n[x.Mode]++
				all++
			}
		}
		t.Logf("%s: %d samples, modes %v", f.name, all, n)
		if all < 20 || n[f.mostly]*4 < all*3 || n[f.none]*20 > all || n[UnknownMode] > 0 {
			t.Errorf("%s: of %d samples have the modes %v, which should be %d mostly and %d hardly", f.name, all, n, f.mostly, f.none)
		}
	}
}

func TestModes(t *testing.T) {
	const at, flags = 0x401000, 0x246
	for _, c := range []struct {
		name string
		regs Regs
		want Mode
	}{
		{"a system call", Regs{AX: ^uint64(unix.ENOSYS) + 1, CX: at, IP: at, R11: flags, Flags: flags}, CallMode},
		{"one that has its result", Regs{AX: 3, CX: at, IP: at, R11: flags, Flags: flags}, CallMode},
		{"one of a processor that leaves RCX and R11 alone", Regs{AX: ^uint64(unix.ENOSYS) + 1, CX: 1, IP: at, R11: 2, Flags: flags}, CallMode},
		{"a fault", Regs{AX: 7, CX: 12, IP: at, R11: flags, Flags: flags}, FaultMode},
		{"a fault just behind a system call", Regs{AX: 0, CX: at, IP: at + 3, R11: flags, Flags: flags}, FaultMode},
	} {
		if m := modeOfMisc(unix.PERF_RECORD_MISC_KERNEL, &c.regs); m != c.want {
			t.Errorf("%s: mode %d by the record, not %d", c.name, m, c.want)
		}
		if m := modeOfStack(^uint64(1<<20), &c.regs); m != c.want {
			t.Errorf("%s: mode %d by the stack, not %d", c.name, m, c.want)
		}
		if m := modeOfMisc(unix.PERF_RECORD_MISC_USER, &c.regs); m != UserMode {
			t.Errorf("%s: mode %d in user mode", c.name, m)
		}
		if m := modeOfStack(600, &c.regs); m != UserMode {
			t.Errorf("%s: mode %d on the thread's stack", c.name, m)
		}
	}
	if m := modeOfMisc(unix.PERF_RECORD_MISC_HYPERVISOR, &Regs{}); m != UnknownMode {
		t.Errorf("mode %d of a hypervisor", m)
	}
}
