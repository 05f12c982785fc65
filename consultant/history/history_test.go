package history

import "testing"

func TestHistoryFolds(t *testing.T) {
	var h History
	for i := range 5000 {
		h.Add(float64(i), 2)
		if len(h.samples) > Max {
			t.Fatalf("%d samples", len(h.samples))
		}
	}
	old := h.View()
	first := old[0]
	for i := range 5000 {
		h.Add(float64(5000+i), 4)
	}
	if old[0] != first {
		t.Error("samples that were handed out changed")
	}
	v := h.View()
	if n := len(v); n < Max/2-1 || n > Max {
		t.Errorf("%d samples", n)
	}
	for i := 1; i < len(v); i++ {
		if v[i].At <= v[i-1].At {
			t.Fatalf("times do not grow at %d", i)
		}
	}
	if v[0].Value != 2 || v[len(v)-1].Value != 4 {
		t.Errorf("ends are %v and %v", v[0], v[len(v)-1])
	}
}
