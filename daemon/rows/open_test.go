package rows

import (
	"os"
	"runtime"
	"testing"
	"time"
)

func TestOpenIsQuickAndSmall(t *testing.T) {
	began := time.Now()
	k, err := Open()
	took := time.Since(began)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	defer k.Close()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("Open took %v, heap %d KiB", took, m.HeapAlloc>>10)
	tab, err := k.Watch(os.Getpid(), 2048)
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Close()
	time.Sleep(100 * time.Millisecond)
	for i := range tab.Slots() {
		if k := tab.Key(i); k != 0 {
			for _, q := range Quantities() {
				t.Log(i, k, q, tab.Value(i, q, 0))
			}
			break
		}
	}
	t.Log(k.Cost())
}

func TestEveryQuantityCanBeNeeded(t *testing.T) {
	k, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	for _, q := range Quantities() {
		b := time.Now()
		if err := k.Need(q); err != nil {
			t.Errorf("%s: %v", q, err)
		}
		t.Log(q, time.Since(b))
	}
	for _, q := range Quantities() {
		k.Release(q)
	}
}
