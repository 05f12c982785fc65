package threadstats

//test:alone

import (
	"errors"
	"flag"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/internal/require"
)

var long = flag.Bool("long", false, "run the long forms of the tests that need real processes")

// TestMain is also the helpers that some tests start: a keeper that is killed, one without rights, one in a namespace.
func TestMain(m *testing.M) {
	if role := os.Getenv("CULPRIT_ROWS_HELPER"); role != "" {
		os.Exit(helpers[role]())
	}
	flag.Parse()
	os.Exit(m.Run())
}

// opened is a Keeper that is closed when the test ends; the test is skipped where the kernel gives none.
func opened(t testing.TB) *Keeper {
	t.Helper()
	return openedBy(t, Open)
}

func openedBy(t testing.TB, open func() (*Keeper, error)) *Keeper {
	t.Helper()
	k, err := open()
	if errors.Is(err, ErrNotPermitted) || errors.Is(err, ErrNoBTF) || errors.Is(err, ErrUnsupported) {
		require.Skip(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	needed(t, k, RunQueueWait)
	return k
}

// watched is a Table that is closed when the test ends.
func watched(t testing.TB, k *Keeper, pid, slots int) *Table {
	t.Helper()
	tab, err := k.Watch(pid, slots)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tab.Close(); err != nil {
			t.Error(err)
		}
	})
	return tab
}

// now is CLOCK_MONOTONIC in ns.
func now(t testing.TB) int64 {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		t.Fatal(err)
	}
	return ts.Nano()
}

// all is every quantity of a row, with what is in flight.
func all(t testing.TB, tab *Table, index int) map[Quantity]int64 {
	t.Helper()
	at := now(t)
	m := map[Quantity]int64{}
	for _, q := range Quantities() {
		m[q] = tab.Value(index, q, at)
	}
	return m
}

// found waits until the thread pointer has a row.
func found(t testing.TB, tab *Table, tp uint64) int {
	t.Helper()
	for range 2000 {
		if i, ok := tab.Find(tp); ok {
			return i
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("thread pointer %#x has no row", tp)
	return 0
}

// owned lists the rows that have a key, with their owners; 0 where the owner has ended.
func owned(tab *Table) map[int]int {
	m := map[int]int{}
	for i := range tab.Slots() {
		if tab.Key(i) != 0 {
			m[i] = int(readHalf(tab.mem, i*RowSize+ownerOff) >> ownerShift)
		}
	}
	return m
}
