package consultant

import (
	"fmt"
	"math"
	"strings"

	"culprit/grid"
	"culprit/internal/safetext"
)

// Text for people. Names come from the target, so they are cut and made printable here.

const maxName = 200 // terminal cells of a name of the target in a sentence

// printable makes a text of the target fit for a line: escaped and cut.
func printable(s string) string { return safetext.CleanMax(s, maxName) }

// percent writes a fraction: "72 %", and small ones with more digits.
func percent(v float64) string {
	p := v * 100
	switch a := math.Abs(p); {
	case a == 0 || a >= 9.95:
		return fmt.Sprintf("%.0f %%", p)
	case a >= 0.995:
		return fmt.Sprintf("%.1f %%", p)
	}
	return fmt.Sprintf("%.2g %%", p)
}

// quantity writes a number in at most four digits with k, M or G.
func quantity(v float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, " G"}, {1e6, " M"}, {1e4, " k"}} {
		if math.Abs(v) >= u.size {
			if u.name == " k" {
				return fmt.Sprintf("%.3g k", v/1e3)
			}
			return fmt.Sprintf("%.3g%s", v/u.size, u.name)
		}
	}
	if v == math.Trunc(v) || math.Abs(v) >= 999.5 { // %.3g would write 2.54e+03
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// seconds writes a time: "3.1 s".
func seconds(v float64) string { return fmt.Sprintf("%.1f s", v) }

// count writes a number with its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return itoa(n) + " " + many
}

func compareText(a, b string) int { return strings.Compare(a, b) }

// focusText is the focus as the user writes it.
func focusText(f grid.Focus) string {
	if f == whole() {
		return "the whole program"
	}
	return printable(f.String())
}

// functionText names the code of a focus: "lookup", "module cache.c", or "the program".
func functionText(f grid.Focus) string {
	e := f.Elements(grid.Code)
	switch len(e) {
	case 0:
		return "the program"
	case 1:
		return "module " + printable(e[0])
	case 2:
		return printable(e[1])
	}
	return "loop " + printable(strings.Join(e[2:], "/")) + " of " + printable(e[1])
}

// objectText names the lock, file or other object of a focus: "mutex cache_lock"; "" if the focus has none.
func objectText(f grid.Focus) string {
	for _, h := range []grid.Hierarchy{grid.SyncObject, grid.IO, grid.Memory} {
		e := f.Elements(h)
		if len(e) == 0 {
			continue
		}
		kind := kindText(e[0])
		if len(e) == 1 {
			return "any " + kind
		}
		return kind + " " + printable(strings.Join(e[1:], "/"))
	}
	return ""
}

// kindText writes a kind of object as a word: Mutex as mutex, but RWLock, IO and the like as they are known.
func kindText(kind string) string {
	switch kind {
	case "RWLock":
		return "rwlock"
	case "CondVar":
		return "condition variable"
	case "SpinLock":
		return "spin lock"
	case "WaitGroup":
		return "WaitGroup"
	}
	return strings.ToLower(printable(kind))
}

// objectName is the name of the lock or file of a focus without its kind; "" if there is none.
func objectName(f grid.Focus) string {
	for _, h := range []grid.Hierarchy{grid.SyncObject, grid.IO} {
		if f.Depth(h) >= 2 {
			return last(f, h)
		}
	}
	return ""
}

// processText names the process or thread of a focus; "" if it has none.
func processText(f grid.Focus) string {
	switch e := f.Elements(grid.Process); len(e) {
	case 0:
		return ""
	case 1:
		return "process " + printable(e[0])
	default:
		return "thread " + printable(e[len(e)-1])
	}
}

// valueText writes a value of the hypothesis.
func (h *hypothesis) valueText(v float64) string {
	if h.fraction {
		return percent(v)
	}
	return quantity(v)
}

// evidence says on what an answer rests: "72 %, threshold 20 %, 46 bins, 99 % sure".
func (n *node) evidence() string {
	if n.est.Nothing {
		return fmt.Sprintf("too little happened there, %s, %s sure", count(n.bins, "bin", "bins"), surety(n.confidence))
	}
	return fmt.Sprintf("%s, %s", n.hyp.valueText(n.est.Value), n.basis())
}

// basis is evidence without the value.
func (n *node) basis() string {
	bins := count(n.bins, "bin", "bins")
	switch {
	case n.byShare():
		bins = "from stack samples"
	case n.tier == grid.TierSample:
		bins += " of stack samples"
	}
	now := ""
	if n.state == True && n.hyp.Margin(n.est.Value, n.est.Threshold) < 0 {
		now = " (it was beyond that; lately it is not)"
	}
	return fmt.Sprintf("threshold %s%s, %s, %s sure", n.hyp.valueText(n.est.Threshold), now, bins, surety(n.confidence))
}

// surety writes a confidence rounded down, so that nothing is ever 100 % sure.
func surety(c float64) string { return fmt.Sprintf("%d %%", int(math.Min(c*100, 99))) }
