package contexts

import (
	"testing"

	"culprit/daemon/process"
)

// stopped is a thread with a thread pointer and a stack pointer.
func stopped(fs, sp uint64) *process.Stopped {
	th := &process.Stopped{}
	th.Regs.Fs_base, th.Regs.Rsp = fs, sp
	return th
}

func TestOwnStack(t *testing.T) {
	maps := []process.Mapping{{Start: 0x10000, End: 0x90000}, {Start: 0x100000, End: 0x200000, Path: "[stack]"}}
	for what, c := range map[string]struct {
		own  ownedStack
		sp   uint64
		want bool
	}{
		"a thread below its block":           {ownStack(stopped(0x80000, 0), false, maps), 0x70000, true},
		"a thread at its block":              {ownStack(stopped(0x80000, 0), false, maps), 0x80000, false},
		"a thread outside":                   {ownStack(stopped(0x80000, 0), false, maps), 0x180000, false},
		"the first thread":                   {ownStack(stopped(0x80000, 0), true, maps), 0x180000, true},
		"the first thread elsewhere":         {ownStack(stopped(0x80000, 0), true, maps), 0x70000, false},
		"a thread whose block is unmapped":   {ownStack(stopped(0x300000, 0), false, maps), 0x2fff00, false},
		"right below the block":              {nearTop(stopped(0x80000, 0)), 0x7ff00, true},
		"too far below to tell":              {nearTop(stopped(0x80000, 0)), 0x80000 - nearBlock - 1, false},
		"a block at the beginning of memory": {nearTop(stopped(0x100, 0)), 0x80, true},
	} {
		if got := c.own.holds(c.sp); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}
