package grid

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
)

func TestErrorTexts(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{ErrRefused{Point: "pop", Reason: "2 bytes long"}, "refused at pop: 2 bytes long"},
		{ErrDeferred{"a thread is in the way"}, "not possible now, try again later: a thread is in the way"},
		{ErrUnsupported{What: "off_cpu", Needs: "Linux 5.4"}, "off_cpu is not supported here: needs Linux 5.4"},
		{ErrUnsupported{What: "off_cpu"}, "off_cpu is not supported here"},
		{ErrNotPermitted{What: "ptrace", Help: "sudo culprit attach 1"}, "not permitted: ptrace; sudo culprit attach 1"},
		{ErrNotPermitted{What: "ptrace"}, "not permitted: ptrace"},
		{ErrTargetExited{42}, "process 42 has ended"},
		{ErrUnknownMetric{"cpuu\x1b"}, "unknown metric \"cpuu\\x1b\"; `culprit metrics` lists the names"},
		{ErrTreeFull{7}, "too many resources: 7 are known already; leave modules out with an exclude statement in PCL"},
		{&FocusError{Text: "x", Column: 1, Found: "'x'", Expected: "a path"}, `focus "x": column 1: found 'x', expected a path`},
	}
	for _, tt := range tests {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
	var r ErrRefused
	if err := fmt.Errorf("enable: %w", tests[0].err); !errors.As(err, &r) || r.Point != "pop" {
		t.Error("a reason cannot be told from its wrapping")
	}
}

// TestJSON reads back what it wrote, with words rather than numbers.
func TestJSON(t *testing.T) {
	type all struct {
		M Metric
		H Hierarchy
		K map[Focus]int
	}
	in := all{
		M: Metric{Name: "threads", Units: "threads", UnitsType: Sampled, Aggregate: Max, Style: SampledFunction},
		H: SyncObject,
		K: map[Focus]int{mustFocus(t, "/Code/a,/IO/File//x"): 1},
	}
	data, err := json.Marshal(in)
	want := `{"M":{"Name":"threads","Units":"threads","UnitsType":"sampled","Aggregate":"max","Style":"SampledFunction","Doc":""},"H":"SyncObject","K":{"/Code/a,/IO/File//x":1}}`
	if err != nil || string(data) != want {
		t.Fatalf("got %s, %v\nwant %s", data, err, want)
	}
	var out all
	if err := json.Unmarshal(data, &out); err != nil || out.M != in.M || out.H != in.H || out.K[mustFocus(t, "/Code/a,/IO/File//x")] != 1 {
		t.Errorf("read back %+v, %v", out, err)
	}
	for _, bad := range []string{`{"H":"Cod"}`, `{"M":{"Style":"x"}}`, `{"M":{"Aggregate":"x"}}`, `{"M":{"UnitsType":"x"}}`, `{"K":{"x":1}}`} {
		if err := json.Unmarshal([]byte(bad), &out); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
	if _, err := json.Marshal(NumHierarchies); err == nil {
		t.Error("a hierarchy that does not exist was written")
	}
}
