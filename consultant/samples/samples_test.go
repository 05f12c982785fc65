package samples

import (
	"slices"
	"testing"

	"culprit/consultant/decide"
)

type get = func(metric string) float64

// TestUses: an additive test follows the samples of its first metric, a ratio those of each, as far as samples of threads that run tell them.
func TestUses(t *testing.T) {
	of := func(a, b string) decide.Func { return func(g get) float64 { return g(a) / g(b) } }
	sum := func(names ...string) decide.Func {
		return func(g get) (v float64) {
			for _, n := range names {
				v += g(n)
			}
			return v / g("active_threads")
		}
	}
	for _, c := range []struct {
		metrics []string
		value   decide.Func
		want    Use
	}{
		{[]string{"cpu_inclusive"}, sum("cpu_inclusive"), Use{"cpu", "cpu", []string{"cpu"}, []int{0, -1}, false}},
		{[]string{"sync_wait_inclusive", "held_up"}, sum("sync_wait_inclusive", "held_up"), Use{"sync", "sync", []string{"sync"}, []int{0, 0, -1}, false}},
		{[]string{"io_wait_inclusive", "blocked"}, sum("io_wait_inclusive", "blocked"), Use{"io", "io", []string{"io"}, []int{0, 0, -1}, false}},
		{[]string{"lock_hold"}, sum("lock_hold"), Use{"sync", "sync", nil, []int{0, -1}, false}},
		{[]string{"system_time"}, sum("system_time"), Use{"cpu", "system_call", []string{"system_call"}, []int{0, -1}, false}},
		{[]string{"system_time", "cpu_inclusive"}, of("system_time", "cpu_inclusive"), Use{"cpu", "system_call", []string{"system_call", "cpu"}, []int{0, 1, -1}, false}},
		{[]string{"fault_time", "cpu_inclusive"}, of("fault_time", "cpu_inclusive"), Use{"cpu", "page_fault", []string{"page_fault", "cpu"}, []int{0, 1, -1}, false}},
		{[]string{"cpu_system", "cpu"}, of("cpu_system", "cpu"), Use{"cpu", "cpu", nil, []int{0, 0, -1}, false}},
		{[]string{"io_bytes", "io_ops"}, of("io_bytes", "io_ops"), Use{"io", "io", nil, []int{0, 0, -1}, false}},
		{[]string{"sync_wait_inclusive", "cpu_inclusive"}, of("sync_wait_inclusive", "cpu_inclusive"), Use{"sync", "sync", nil, []int{0, 1, -1}, false}},
		{[]string{"short_lived_cpu"}, sum("short_lived_cpu"), Use{"cpu", "cpu", nil, []int{0, -1}, true}},
		{nil, sum("active_threads"), Use{"cpu", "cpu", nil, []int{-1}, false}},
	} {
		test := decide.NewTest(append(c.metrics, "active_threads"), []string{"active_threads"}, true, c.value, func(get) float64 { return 0.5 })
		u := Of(test)
		if u.About != c.want.About || u.Kind != c.want.Kind || !slices.Equal(u.Kinds, c.want.Kinds) || !slices.Equal(u.Follows, c.want.Follows) {
			t.Errorf("%v: %+v, want %+v", c.metrics, u, c.want)
		}
	}
}

// TestShares: a share is one at most, and it is told where a place has more than what it should be a part of.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		weights       [][2]float64
		shares        []float64
		known, within bool
	}{
		{[][2]float64{{0.3, 0.6}}, []float64{0.5}, true, true},
		{[][2]float64{{0, 0.6}}, []float64{0}, true, true},
		{[][2]float64{{0.605, 0.6}}, []float64{1}, true, true},
		{[][2]float64{{0.9, 0.45}}, []float64{1}, true, false},
		{[][2]float64{{0.3, 0.6}, {0.8, 0.4}}, []float64{0.5, 1}, true, false},
		{[][2]float64{{0, 0.6}, {0, 0.5}}, []float64{0, 0}, false, true},
		{[][2]float64{{0.3, 0}}, []float64{0}, false, false},
		{[][2]float64{{-1, 0.6}}, []float64{0}, false, false},
	} {
		kinds := []string{"a", "b"}[:len(c.weights)]
		shares, known, within := Shares(kinds, func(kind string) (part, whole float64) {
			w := c.weights[kind[0]-'a']
			return w[0], w[1]
		})
		if !slices.Equal(shares, c.shares) || known != c.known || within != c.within {
			t.Errorf("%v: %v, %t, %t", c.weights, shares, known, within)
		}
	}
}
