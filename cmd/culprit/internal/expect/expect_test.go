package expect

import (
	"bytes"
	"encoding/xml"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/check"
)

func library(t *testing.T, text string) *pcl.Library {
	t.Helper()
	lib, problems, err := check.Load(check.Options{Texts: []string{text}})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	return lib
}

const limits = `expect First {
	cpu < 0.5;
	cpu > 0.5;
	not cpu < 0.5;
	not cpu > 0.5;
	cpu / number_of_cpus@"/" < 0.1 at "/Part/a";
	io_ops / sync_ops < 1;
}
expect Second {
	Busy;
	not Busy;
	not Idle at "/Code/m.c/f";
	sync_wait < 0.1;
	blocked < 0.1;
}
hypothesis Busy { test cpu > 0.2; }
hypothesis Idle { test cpu < 0.2; }
hierarchy Part { item "a" is { "/Code/m.c" }; }`

func averages(values map[string]float64) Reader {
	return func(k grid.PairKey, view pcl.View) (float64, error) {
		if view != pcl.Average {
			return 0, errors.New("not asked for")
		}
		v, ok := values[k.String()]
		if !ok {
			return 0, errors.New("refused at \x1b[31m" + k.String() + ": too short")
		}
		return v, nil
	}
}

func TestJudge(t *testing.T) {
	lib := library(t, limits)
	var keys []string
	for _, k := range Keys(lib) {
		keys = append(keys, k.String())
	}
	if got, want := strings.Join(keys, " "), "cpu@/ cpu@/Part/a number_of_cpus@/ io_ops@/ sync_ops@/ cpu@/Code/m.c/f sync_wait@/ blocked@/"; got != want {
		t.Errorf("pairs %s, want %s", got, want)
	}
	list := Judge(lib, averages(map[string]float64{"cpu@/": 0.3, "cpu@/Part/a": 0.8, "number_of_cpus@/": 4, "io_ops@/": 7, "sync_ops@/": 0,
		"cpu@/Code/m.c/f": 0, "blocked@/": math.NaN()}))
	want := []struct {
		set, text string
		outcome   Outcome
		detail    string
	}{
		{"First", "cpu < 0.5", Held, "0.3 CPUs, expected below 0.5 CPUs"},
		{"First", "cpu > 0.5", Failed, "0.3 CPUs, expected above 0.5 CPUs"},
		{"First", "not cpu < 0.5", Failed, "0.3 CPUs, expected not below 0.5 CPUs"},
		{"First", "not cpu > 0.5", Held, "0.3 CPUs, expected not above 0.5 CPUs"},
		{"First", `cpu / number_of_cpus@"/" < 0.1 at "/Part/a"`, Failed, "0.2, expected below 0.1"},
		{"First", "io_ops / sync_ops < 1", Held, "0, expected below 1"}, // x/0 is 0
		{"Second", "Busy", Held, "0.3 CPUs, expected above 0.2 CPUs"},
		{"Second", "not Busy", Failed, "0.3 CPUs, expected not above 0.2 CPUs"},
		{"Second", `not Idle at "/Code/m.c/f"`, Held, "0 CPUs, expected not below 0.2 CPUs"}, // nothing happened there: it is not known to be idle
		{"Second", "sync_wait < 0.1", Unknown, "it could not be measured: refused at \\x1b[31msync_wait@/: too short"},
		{"Second", "blocked < 0.1", Unknown, "it could not be measured: blocked@/ has no value"},
	}
	if len(list) != len(want) {
		t.Fatalf("%d verdicts, want %d", len(list), len(want))
	}
	for i, w := range want {
		if v := list[i]; v.Set != w.set || v.Text != w.text || v.Outcome != w.outcome || v.Detail != w.detail {
			t.Errorf("got  %+v\nwant %+v", v, w)
		}
	}
	var text bytes.Buffer
	if err := WriteText(&text, list); err != nil || !strings.HasSuffix(text.String(), "\n5 held, 4 failed, 2 could not be measured\n") || strings.Contains(text.String(), "\x1b") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

func TestJUnit(t *testing.T) {
	list := []Verdict{{Set: "A", Text: "cpu < \"1\" & \x01", Outcome: Held, Detail: "0"}, {Set: "B", Text: "b", Outcome: Unknown, Detail: "]]> <x>"},
		{Set: "A", Text: "c", Outcome: Failed, Detail: "2, expected below 1"}}
	var out bytes.Buffer
	if err := WriteJUnit(&out, list, time.Unix(1, 0), 1500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	var back suites
	if err := xml.Unmarshal(out.Bytes(), &back); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if len(back.Suites) != 2 || back.Suites[0].Tests != 2 || back.Suites[0].Failures != 1 || back.Suites[1].Errors != 1 || back.Suites[0].Time != "1.500" ||
		back.Suites[0].Timestamp != "1970-01-01T00:00:01" {
		t.Fatalf("%s", out.String())
	}
	if c := back.Suites[0].Cases; c[0].Name != "cpu < \"1\" & \uFFFD" || c[0].Failure != nil || c[1].Failure.Message != "2, expected below 1" {
		t.Errorf("%s", out.String())
	}
	if c := back.Suites[1].Cases[0]; c.Error == nil || c.Error.Message != "]]> <x>" {
		t.Errorf("%s", out.String())
	}
}
