package daemon

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/testprog"
	"culprit/pcl/check"
)

// leaverPCL counts and times the calls of work, each by itself and as a distribution.
const leaverPCL = `
metric works { name "works"; units calls; unitsType unnormalized; aggregateOperator sum; style EventCounter; doc "Of a test.";
	base is counter { append preInsn $function("work").entry (* works++; *) } }
metric workTime { name "work_time"; units s; unitsType unnormalized; aggregateOperator sum; style EventCounter; doc "Of a test.";
	base is wallTimer { append preInsn $function("work").entry (* startWallTimer(workTime); *) prepend preInsn $function("work").return (* stopWallTimer(workTime); *) } }
metric workTimes { name "work_times"; units s; unitsType unnormalized; aggregateOperator sum; style EventCounter; doc "Of a test.";
	base is histogram(wallTimer) { append preInsn $function("work").entry (* startWallTimer(workTimes); *) prepend preInsn $function("work").return (* stopWallTimer(workTimes); *) } }
`

// TestThreadsThatEnd: what a thread has done in its last moments, since values were read, is in its own value too, also where its process ends
// with it. So the values of the threads add up to that of the program; times differ by what a thread waits for a processor between the probes of two
// pairs.
func TestThreadsThatEnd(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{false, true} {
		t.Run(fmt.Sprintf("whole=%v", whole), func(t *testing.T) {
			var args []string
			if whole {
				args = []string{"1"}
			}
			p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/leavers.c"), args...)
			d := attachWith(t, leaverPCL, p.PID)
			leaversCount(t, d, p)
			if whole {
				select {
				case <-d.Ended():
				case <-time.After(10 * time.Second):
					t.Fatal("the end of the program was not seen")
				}
			} else {
				p.Expect(t, "DONE", 10*time.Second)
			}
		})
	}
}

func leaversCount(t *testing.T, d *Daemon, p *testprog.Prog) {
	t.Helper()
	process := d.Tree().Children(grid.Process)[0]
	var s sums
	var keys []grid.PairKey
	for _, metric := range []string{"works", "workTime", "workTimes"} {
		keys = append(keys, key(t, metric, "/"))
		for thread := range p.Counts() {
			keys = append(keys, key(t, metric, "/Process/"+process+"/"+thread))
		}
	}
	d.mustEnable(t, &s, keys...)
	p.Say(t, "go")
	for end := time.Now().Add(10 * time.Second); s.of(keys[0]) < 360 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	d.lockAll()
	mores := map[grid.PairKey]float64{}
	for _, k := range keys {
		for _, pt := range d.pairs[k].parts {
			more, _, _ := pt.Probes.Doubt()
			mores[k] += more
		}
	}
	d.unlockAll()
	d.Disable(keys)
	parts := map[string]float64{}
	for _, k := range keys {
		if k.Focus.Depth(grid.Process) == 0 {
			continue
		}
		thread := k.Focus.Elements(grid.Process)[1]
		got := s.of(k)
		parts[k.Metric] += got
		more := mores[k] // 0 where nobody else on this machine came and went
		if want := float64(p.Counts()[thread]); k.Metric == "works" && (got > want || got+more < want || more == 0 && got != want) || got+more == 0 {
			t.Errorf("%v: %v and up to %v more, the thread made %v calls", k, got, more, want)
		}
		parts[k.Metric] += more
	}
	for metric, sum := range parts {
		if all := s.of(key(t, metric, "/")); sum < 0.8*all || sum > 1.2*all {
			t.Errorf("%s: the threads make %v of %v: %s", metric, sum, all, strings.Join(d.Tree().Children(grid.Process, process), " "))
		}
	}
}

// TestChildrenThatNobodySaw: that processes came and went before they could be measured is told of values over all processes, also where they took
// hardly any processor time; nothing is told where there were none, or of one process.
func TestChildrenThatNobodySaw(t *testing.T) {
	for children, want := range map[string]string{"4": "processes that it started ended before they could be measured: what they did is not counted", "0": ""} {
		p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/shortlived.c"), children)
		lib, problems, err := check.Load(check.Options{Texts: []string{leaverPCL}})
		if err != nil || len(problems) > 0 {
			t.Fatal(err, problems)
		}
		d, err := Attach(context.Background(), Options{Library: lib, Children: true, Log: func(s string) { t.Log(s) }}, p.PID)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Detach() })
		all, one := key(t, "works", "/"), key(t, "works", "/Process/"+d.Tree().Children(grid.Process)[0])
		var s sums
		d.mustEnable(t, &s, all, one)
		p.Say(t, "go")
		p.Expect(t, "DONE", 10*time.Second)
		if got := d.Notes(all); got != want {
			t.Errorf("%s children: %q, want %q", children, got, want)
		}
		if got := d.Notes(one); got != "" {
			t.Errorf("of one process: %q", got)
		}
		detachClean(t, d, p.PID)
		p.Stop(t)
	}
}

// TestGaugesOfThreadsThatFollow: a thread that begins in the memory of one that ended goes on with the value that is there. That is right in a sum of
// changes; of the largest value it is said that it may be wrong.
func TestGaugesOfThreadsThatFollow(t *testing.T) {
	text := ""
	for _, operator := range []string{"sum", "max"} {
		text += fmt.Sprintf(`metric %[1]sOf { name "%[1]s_of"; units x; aggregateOperator %[1]s; style SampledFunction; doc "Of a test.";
	base is counter { append preInsn $function("work").entry (* %[1]sOf++; *) } }
`, operator)
	}
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/oneafteranother.c"))
	d := attachWith(t, text, p.PID)
	var s sums
	sum, most := key(t, "sum_of", "/"), key(t, "max_of", "/")
	d.mustEnable(t, &s, sum, most)
	p.Say(t, "go")
	p.Expect(t, "DONE", 20*time.Second)
	time.Sleep(2 * tickInterval)
	if note := d.Notes(sum); note != "" {
		t.Errorf("of a sum: %q", note)
	}
	if note := d.Notes(most); !strings.HasPrefix(note, "threads may have begun in the memory of ones that ended") {
		t.Errorf("of the largest: %q", note)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}
