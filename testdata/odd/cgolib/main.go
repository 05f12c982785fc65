// A library of Go code that a C program loads: its goroutines are taken off their threads in the middle of small functions.
package main

import "C"

import (
	"runtime"
	"sync/atomic"
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

var units, wrong atomic.Uint64

//export goBegin
func goBegin() {
	runtime.GOMAXPROCS(2)
	want := unit(1)
	for range 48 {
		go func() {
			for {
				if unit(1) != want {
					wrong.Add(1)
				}
				units.Add(1)
			}
		}()
	}
}

// goDone is how much came out right, or 0 if something did not.
//
//export goDone
func goDone() uint64 {
	if wrong.Load() != 0 {
		return 0
	}
	return units.Load()
}

//export goUnit
func goUnit() uint64 { return unit(1) }

func main() {}
