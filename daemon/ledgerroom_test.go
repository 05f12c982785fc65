package daemon

import (
	"os"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"culprit/grid"
	"culprit/internal/testprog"
	"culprit/trampoline"
)

// TestLedgerHasNoRoom asks for more probes than can be noted: none is written, and a smaller batch works.
func TestLedgerHasNoRoom(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/calls.c"), "1000", "1")
	d := attachTo(t, p.PID)
	var s sums
	d.lockAll()
	ledger := d.targets[0].Seg.Ledger
	var taken []int
	for ledger.Room() > 4 {
		n, err := ledger.Put(trampoline.Entry{Addr: 1, Len: 5})
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, n)
	}
	d.unlockAll()
	var keys []grid.PairKey
	for _, n := range []string{"recurse", "tail_first", "tail_second", "tail_last", "deep_jump", "try_jump"} {
		keys = append(keys, key(t, "procedure_calls", "/Code/calls.c/"+n))
	}
	for _, r := range d.Enable(keys, &s) {
		if r.Err == nil || !strings.Contains(r.Err.Error(), "select fewer") {
			t.Errorf("%s: %v", r.Key, r.Err)
		}
	}
	if n := d.Probes().Inserted; n != 0 {
		t.Errorf("%d sites were patched", n)
	}
	d.mustEnable(t, &s, keys[:2]...)
	for _, n := range taken {
		ledger.Free(n)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestHistoryTouchesNothing: what never held an entry is not looked at, which would make memory of it.
func TestHistoryTouchesNothing(t *testing.T) {
	const pages = 64
	size := os.Getpagesize()
	mem, err := unix.Mmap(-1, 0, pages*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	l := trampoline.NewLedger(mem)
	if _, err := l.Put(trampoline.Entry{Addr: 1, Len: 5}); err != nil {
		t.Fatal(err)
	}
	if n := len(l.History()); n != 1 {
		t.Errorf("%d entries", n)
	}
	if n := residentPages(t, mem); n != 1 {
		t.Errorf("%d pages of memory, want 1", n)
	}
}

func residentPages(t *testing.T, mem []byte) (n int) {
	t.Helper()
	vec := make([]byte, len(mem)/os.Getpagesize())
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mem[0])), uintptr(len(mem)), uintptr(unsafe.Pointer(&vec[0]))); errno != 0 {
		t.Fatal(errno)
	}
	for _, b := range vec {
		n += int(b & 1)
	}
	return n
}
