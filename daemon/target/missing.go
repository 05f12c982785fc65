package target

import (
	"fmt"
	"slices"
	"strings"

	"culprit/grid"
	"culprit/internal/safetext"
	"culprit/pcl"
)

// Processes and threads that a focus names and that are not there.

// CheckThread refuses a focus on a thread that the process does not have: nothing would be counted there.
func (t *Target) CheckThread(f grid.Focus) error {
	e := f.Elements(grid.Process)
	if len(e) < 2 || t.Threads.Has(e[1]) {
		return nil
	}
	return notThere(f, fmt.Sprintf("no live thread %q of %s is measured here%s", e[1], t.Name, instead(e[1], t.Tree.Children(grid.Process, t.Name))))
}

// NoProcess is the error for a focus on a process that is not measured. It may come.
func (s *Session) NoProcess(f grid.Focus) error {
	name := f.Elements(grid.Process)[0]
	return notThere(f, fmt.Sprintf("no live process %q is measured here%s", name, instead(name, s.Tree.Children(grid.Process))))
}

// notThere is the error for a focus on a process or a thread that is not there. It may come.
func notThere(f grid.Focus, why string) error {
	return &pcl.NoFunction{Name: f.String(), At: &grid.ErrRefused{Point: f.String(), Reason: why}}
}

// instead says what there is instead of a process or thread: those that are called so but for what stands in brackets, or a few.
func instead(name string, all []string) string {
	called := slices.DeleteFunc(slices.Clone(all), func(n string) bool { return !strings.HasPrefix(n, name+"{") && !strings.HasSuffix(n, "{"+name+"}") })
	if len(called) == 0 {
		called = all
	}
	if len(called) == 0 {
		return ""
	}
	return "; there is " + safetext.CleanMax(Few(called), 300)
}

// MostNamed is how many names a sentence has at most.
const MostNamed = 5

// Few names some of many things.
func Few(names []string) string {
	if n := len(names) - MostNamed; n > 0 {
		names = append(slices.Clone(names[:MostNamed]), fmt.Sprintf("%d more", n))
	}
	return strings.Join(names, ", ")
}
