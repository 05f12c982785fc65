package threadstats

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

func TestQuantitiesFitIntoARow(t *testing.T) {
	seen := map[string]bool{}
	for i, q := range Quantities() {
		if int(q) != i || q.Offset() < firstOff || q.Offset()+8 > RowSize || q.Offset()%8 != 0 {
			t.Errorf("%s is at %d", q, q.Offset())
		}
		if got, ok := ByName(q.Name()); !ok || got != q || seen[q.Name()] || strings.ToLower(q.Name()) != q.Name() {
			t.Errorf("%s is found as %s", q, got)
		}
		seen[q.Name()] = true
	}
	if len(Quantities()) != int(quantityCount) || RowSize&(RowSize-1) != 0 {
		t.Errorf("%d quantities in %d bytes", len(Quantities()), RowSize)
	}
	if _, ok := ByName("unknown"); ok || quantityCount.Name() != "unknown" || quantityCount.Nanoseconds() {
		t.Error("what is none is one")
	}
	if !OffCPU.Nanoseconds() || ForcedSwitches.Nanoseconds() {
		t.Error("times and numbers are mixed up")
	}
}

// TestAtomicOperationsAreWhatTheySay holds the bytes of the three that the programs use against the numbers of the kernel's
// Documentation/bpf/standardization/instruction-set.rst.
func TestAtomicOperationsAreWhatTheySay(t *testing.T) {
	for _, c := range []struct {
		op   asm.AtomicOp
		want []byte
	}{
		{asm.AddAtomic, []byte{0xdb, 0x21, 8, 0, 0, 0, 0, 0}},
		{asm.Xchg, []byte{0xdb, 0x21, 8, 0, 0xe1, 0, 0, 0}},
		{asm.CmpXchg, []byte{0xdb, 0x21, 8, 0, 0xf1, 0, 0, 0}},
	} {
		var b bytes.Buffer
		if _, err := indivisible(c.op, asm.R1, 8, asm.R2).Marshal(&b, binary.LittleEndian); err != nil || !bytes.Equal(b.Bytes(), c.want) {
			t.Errorf("%s: %x, not %x (%v)", c.op, b.Bytes(), c.want, err)
		}
	}
}

func TestKindsOfCalls(t *testing.T) {
	table := callKinds()
	for _, c := range []struct {
		call   int
		reason byte
		class  byte
	}{
		{unix.SYS_FUTEX, byte(BlockedFutex), classFutex}, {unix.SYS_READ, byDescriptor, classIO}, {unix.SYS_FSYNC, byte(BlockedFile), classIO},
		{unix.SYS_OPENAT, byte(BlockedFile), classOther}, {unix.SYS_BRK, byte(BlockedOther), classMemory}, {unix.SYS_GETPPID, byte(BlockedOther), classOther},
		{unix.SYS_CLOCK_NANOSLEEP, byte(BlockedSleep), classOther}, {unix.SYS_RESTART_SYSCALL, asBefore, classOther}, {maxCalls - 1, byte(BlockedOther), classOther},
	} {
		if k := table[c.call]; k&reasonBits != c.reason || k>>classShift != c.class {
			t.Errorf("call %d is of kind %#x", c.call, k)
		}
	}
	seen := map[int]bool{}
	for _, k := range kinds {
		for _, nr := range k.calls {
			if seen[nr] {
				t.Errorf("call %d is listed twice", nr)
			}
			seen[nr] = true
		}
	}
}

func TestProcessorLists(t *testing.T) {
	for text, want := range map[string]int{"0": 1, "0-3": 4, "0-1,4,6-7": 5, "": 0, "3-1": 0, "x": 0, "0-99999999": 0, "-1": 0, "0,,1": 0} {
		if got := processorList(text); len(got) != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
