// A program of pure Go whose eight goroutines write records to one file, each time until it is on the disk, one goroutine at a time. It says twenty times a
// second how many microseconds that took so far.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

var (
	mu     sync.Mutex
	spent  atomic.Int64
	record = make([]byte, 200)
)

//go:noinline
func audit(f *os.File) {
	mu.Lock()
	defer mu.Unlock()
	began := time.Now()
	if _, err := f.Write(record); err != nil {
		panic(err)
	}
	if err := f.Sync(); err != nil {
		panic(err)
	}
	spent.Add(time.Since(began).Microseconds())
}

func main() {
	f, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	runtime.GOMAXPROCS(16) // else a goroutine waits behind each call until it may run again, and its clock runs on
	for range 8 {
		go func() {
			for {
				audit(f)
			}
		}()
	}
	for {
		time.Sleep(50 * time.Millisecond)
		fmt.Println("COUNT spent", spent.Load())
	}
}
