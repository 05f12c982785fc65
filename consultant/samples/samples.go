// Package samples says what stack samples tell of a test: which of them speak for it, and whether their shares estimate its value at a part of a
// focus where it was measured.
//
// It is pure, and knows metrics by their names. It imports nothing of the house but package decide. All of it may be called from any goroutine.
package samples

import (
	"slices"
	"strings"

	"culprit/consultant/decide"
)

// A Use is what stack samples tell of a test.
type Use struct {
	About   string   // "cpu", "ready", "sync" or "io": what the threads do there; ready is to wait for a CPU
	Kind    string   // of the samples that speak for it, as grid.Axis has them
	Kinds   []string // of the samples whose shares estimate the value at a part of a focus; nil if none do
	Follows []int    // by index of the metrics: which of Kinds estimates the metric; -1 where it is the same at the part, or none does
	Ended   bool     // it tells of processes that ended soon
}

// Of is the use for a test. Of an additive test a part has a part of the value, by the samples of what its first metric is about. The metrics of
// another test, such as a ratio, are estimated each by samples of its own; those are of threads that run only, since of waits it is not
// known how long they last.
func Of(t *decide.Test) Use {
	u := Use{About: "cpu", Kind: "cpu", Follows: make([]int, len(t.Metrics))}
	estimated, first := true, true
	for i, metric := range t.Metrics {
		if u.Follows[i] = -1; t.Global[i] {
			continue
		}
		m := kindOf(metric)
		switch {
		case !t.Additive():
			estimated = estimated && m.tells && m.about == "cpu"
		case first:
			estimated = m.tells
		default:
			m.kind = u.Kind
		}
		if first {
			u.About, u.Kind, first = m.about, m.kind, false
			u.Ended = strings.HasPrefix(metric, "short_lived")
		}
		u.Follows[i] = u.index(m.kind)
	}
	if !estimated || first {
		u.Kinds = nil
	}
	return u
}

// index is the place of a kind in Kinds.
func (u *Use) index(kind string) int {
	if i := slices.Index(u.Kinds, kind); i >= 0 {
		return i
	}
	u.Kinds = append(u.Kinds, kind)
	return len(u.Kinds) - 1
}

// noise is by how much a part may seem to be more than the whole: samples go on meanwhile.
const noise = 0.02

// Shares are the parts of the samples of each kind, 0..1, that were taken at a place, by how many there are at the place and at another. Nothing is known
// where those of one kind are not, or of a ratio of which no sample was seen. within says that the place may be a part of the other.
func Shares(kinds []string, weights func(kind string) (part, whole float64)) (shares []float64, known, within bool) {
	shares, within = make([]float64, len(kinds)), true
	for i, k := range kinds {
		part, whole := weights(k)
		if !(part >= 0 && whole > 0) {
			return shares, false, false
		}
		within = within && part <= whole*(1+noise)
		shares[i] = min(part/whole, 1)
	}
	return shares, len(kinds) == 1 || slices.Max(shares) > 0, within
}

// A metric is what is known of one by its name: what it is about, which samples speak for it, and whether their share is its share.
type metric struct {
	about, kind string
	tells       bool
}

func kindOf(name string) metric {
	starts := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	switch {
	case starts("sync"), starts("lock"), strings.Contains(name, "_sync_"):
		return metric{"sync", "sync", starts("sync_wait")}
	case starts("io"), starts("msg"):
		return metric{"io", "io", starts("io_wait")}
	case starts("run_queue"):
		return metric{"ready", "cpu", false}
	case starts("system_time"):
		return metric{"cpu", "system_call", true}
	case starts("fault_time"):
		return metric{"cpu", "page_fault", true}
	}
	return metric{"cpu", "cpu", starts("cpu") && name != "cpu_user" && name != "cpu_system"}
}
