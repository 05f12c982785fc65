package pcl_test

import (
	"fmt"
	"testing"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/check"
	"culprit/pcl/compile"
	"culprit/pcl/internal/cases"
	"culprit/pcl/syntax"
)

// TestManualExamples: every block of PCL in the manual loads behind those above it, without a problem or a warning, and
// its metrics compile to something that is inserted.
func TestManualExamples(t *testing.T) {
	_, fences := cases.Manual(t)
	env := cases.NewTarget()
	env.ModuleNames = append(env.ModuleNames, "shop.c")
	env.Funcs = append(env.Funcs, cases.NewFunction(70, "shop.c", []string{"take"}, nil), cases.NewFunction(71, "shop.c", []string{"sell"}, []pcl.FuncID{70}),
		cases.NewFunction(72, "shop.c", []string{"audit"}, []pcl.FuncID{70}), cases.NewFunction(63, "libc.so.6", []string{"read"}, nil), cases.NewFunction(64, "libc.so.6", []string{"malloc"}, nil),
		cases.NewFunction(65, "shop.c", []string{"price"}, nil))
	var above []string
	examples, metrics, requests := 0, 0, 0
	for _, f := range fences {
		if f.Lang != "pcl" {
			continue
		}
		examples++
		above = append(above, f.Text)
		lib, problems, err := check.Load(check.Options{Texts: above})
		if err != nil || len(problems) > 0 {
			t.Fatalf("%s: %v %v", f.Place, problems, err)
		}
		own := fmt.Sprintf("-e[%d]", len(above))
		for _, p := range check.Warnings(lib, cases.Kept) {
			if p.Pos.File.Name == own {
				t.Errorf("%s: %s", f.Place, p.Detail())
			}
		}
		tree, _ := syntax.Parse("", f.Text)
		for _, d := range tree.Defs {
			if d.Keyword != "metric" {
				continue
			}
			plan, err := compile.Plan(lib, d.Name, grid.Whole(), env)
			if err != nil || plan.Kind != pcl.Kernel && len(plan.Requests) == 0 {
				t.Errorf("%s: metric %s: %v, plan %v", f.Place, d.Name, err, plan)
				continue
			}
			metrics++
			requests += len(plan.Requests)
		}
	}
	t.Logf("%d examples, %d metrics, %d requests", examples, metrics, requests)
	if examples < 10 || metrics < 5 {
		t.Error("the manual has hardly any examples")
	}
}
