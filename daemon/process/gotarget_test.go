package process

import (
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

func init() { helpers["gotarget"] = goTarget }

// goTarget is a Go program under stress: collections, growing stacks, preemption, timers, pipes; it checks its own work.
func goTarget([]string) int {
	var bad, loops atomic.Int64
	var stopping atomic.Bool
	var wg sync.WaitGroup
	work := func(f func() bool) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for !stopping.Load() {
				if !f() {
					bad.Add(1)
				}
				loops.Add(1)
			}
		}()
	}
	block := make([]byte, 1<<12)
	sum := crc32.ChecksumIEEE(block)
	for range 3 {
		work(func() bool { return crc32.ChecksumIEEE(append([]byte{}, block...)) == sum })
		work(func() bool { return deep(200) == 200*201/2 })
		work(func() bool { time.Sleep(time.Millisecond); return true })
	}
	work(func() bool { runtime.GC(); time.Sleep(2 * time.Millisecond); return true })
	r, w, err := os.Pipe()
	if err != nil {
		return 1
	}
	work(func() bool { n, err := w.Write([]byte("x")); return n == 1 && err == nil || stopping.Load() })
	work(func() bool { n, err := r.Read(make([]byte, 64)); return n > 0 && err == nil || stopping.Load() })
	fmt.Println("ready")
	_, _ = io.ReadAll(os.Stdin)
	stopping.Store(true)
	time.Sleep(10 * time.Millisecond)
	w.Close()
	wg.Wait()
	fmt.Printf("bad %d\nloops %d\n", bad.Load(), loops.Load())
	return 0
}

//go:noinline
func deep(n int) int {
	var pad [64]int
	pad[n%64] = n
	if n == 0 {
		return 0
	}
	return deep(n-1) + pad[n%64]
}

func TestGoTarget(t *testing.T) {
	tg := startCmd(t, self("gotarget"))
	p := open(t, tg.pid())
	calls := 0
	for begin := time.Now(); time.Since(begin) < time.Second; calls++ {
		stop(t, p, func(w *World) error {
			at, err := w.Mmap(0, raw.PageSize, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, -1, 0)
			if err != nil {
				return err
			}
			return w.Munmap(at, raw.PageSize)
		})
	}
	for i, point := range raw.FaultPoints {
		if point == "stop.broken-call" {
			continue
		}
		killVictim(t, tg, point, 1+i%3)
	}
	for range 20 {
		killVictim(t, tg, "", 0)
	}
	untraced(t, tg.pid())
	res := tg.finish()
	t.Logf("%d stops with two calls each, and killed tracers; target: %v", calls, res)
	if res["bad"] != 0 || res["loops"] == 0 {
		t.Errorf("target: %v", res)
	}
}
