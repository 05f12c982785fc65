package trampoline

import (
	"runtime"
	"testing"
	"time"

	"culprit/trampoline/planner"
	"culprit/trampoline/x86"
)

// TestPlanLetsGoOfItsFunction: plans stay for as long as a session, and the instructions of a function are most of its memory.
func TestPlanLetsGoOfItsFunction(t *testing.T) {
	gone := make(chan struct{})
	plan := func() *planner.Plan {
		b := &planner.Body{
			Insts:  []x86.Inst{{Addr: 0x1000, Len: 5, Opcode: 0xB8}, {Addr: 0x1005, Len: 1, Flow: x86.FlowRet, Opcode: 0xC3}},
			Bytes:  func(_ uint64, n int) []byte { return []byte{0xB8, 0, 0, 0, 0, 0xC3}[:n] },
			Target: func(uint64) bool { return false },
			PadEnd: func(a uint64) uint64 { return a },
		}
		runtime.AddCleanup(b, func(c chan struct{}) { close(c) }, gone)
		return planner.MakePlan(b, []planner.Point{{Kind: planner.FuncEntry, Addr: 0x1000}})
	}()
	for range 100 {
		runtime.GC()
		select {
		case <-gone:
			if len(plan.Sites) != 1 {
				t.Errorf("%d sites, want 1", len(plan.Sites))
			}
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("the plan keeps the function")
	runtime.KeepAlive(plan)
}
