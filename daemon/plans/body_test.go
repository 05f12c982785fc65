package plans

import (
	"errors"
	"testing"
)

// TestPlanningEndsWhereCodeIsGone: code that cannot be read any more is a reason, any other panic is none.
func TestPlanningEndsWhereCodeIsGone(t *testing.T) {
	gone := errors.New("truncated")
	if err := planning(func() { panic(unreadable{gone}) }); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
	if err := planning(func() {}); err != nil {
		t.Errorf("%v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a panic was lost")
		}
	}()
	_ = planning(func() { panic("BUG") })
}
