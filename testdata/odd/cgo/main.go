// A cgo program whose goroutines are taken off their threads in the middle of small functions, and whose C functions run for a known
// time in a known number of threads. It speaks as target.h says.
package main

/*
#include <stdint.h>
uint64_t c_small(uint64_t a, uint64_t b);
void c_wait(int us);
extern uint64_t c_waited;
uint64_t c_spin(int us);
void c_callback(int us);
*/
import "C"

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"
)

//go:noinline
func small0(a, b uint64) uint64 { return (a^a>>7)*3 + b }

//go:noinline
func small1(a, b uint64) uint64 { return (a^a>>9)*5 + b }

//go:noinline
func small2(a, b uint64) uint64 { return (a^a>>11)*7 + b }

//go:noinline
func small3(a, b uint64) uint64 { return (a^a>>13)*9 + b }

//go:noinline
func small4(a, b uint64) uint64 { return (a^a>>5)*11 + b }

//go:noinline
func small5(a, b uint64) uint64 { return (a^a>>3)*13 + b }

//go:noinline
func unit(h uint64) uint64 {
	for i := range uint64(2000) {
		h = small5(small4(small3(small2(small1(small0(h, i), i), i), i), i), i)
	}
	return h
}

//export goBack
func goBack(us C.int) { time.Sleep(time.Duration(us) * time.Microsecond) }

var units, stopping atomic.Uint64

func bad(why string) {
	fmt.Println("BAD", why)
	os.Exit(1)
}

func main() {
	runtime.GOMAXPROCS(2)
	want, began := unit(1), time.Now()
	for range 48 {
		go func() {
			for stopping.Load() == 0 {
				if unit(1) != want {
					bad("a goroutine's work came out wrong")
				}
				units.Add(1)
			}
		}()
	}
	for range 3 { // at most so many threads are in each of these at a time
		go func() {
			for stopping.Load() == 0 {
				C.c_wait(2000)
			}
		}()
		go func() {
			for stopping.Load() == 0 {
				C.c_callback(2000)
			}
		}()
	}
	go func() {
		for stopping.Load() == 0 {
			C.c_spin(300)
			time.Sleep(time.Millisecond)
		}
	}()
	for units.Load() == 0 { // else one that is told to stop at once has done nothing
		time.Sleep(time.Millisecond)
	}
	fmt.Println("READY", os.Getpid())
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() && in.Text() != "stop" {
	}
	stopping.Store(1)
	if units.Load() == 0 {
		bad("no goroutine ran")
	}
	fmt.Println("COUNT c_wait_ms", C.c_waited/1e6)
	fmt.Println("COUNT life_ms", time.Since(began).Milliseconds())
	fmt.Printf("OK %016x\n", want)
	os.Exit(7)
}
