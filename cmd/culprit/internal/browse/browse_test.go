package browse

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/google/go-cmp/cmp"

	"culprit/consultant"
	"culprit/grid"
	"culprit/session"
	"culprit/session/report"
)

var update = flag.Bool("update", false, "rewrite the golden screens")

// fixed is a Source that never changes; it notes what was asked of it.
type fixed struct {
	snap session.Snapshot
	mu   sync.Mutex
	did  []string
}

func (f *fixed) Snapshot() session.Snapshot { return f.snap }
func (f *fixed) Expand(id int) error        { return f.note("expand", id) }
func (f *fixed) Prune(id int) error         { return f.note("prune", id) }
func (f *fixed) Retest(id int) error {
	return errors.Join(f.note("retest", id), errors.New("\x1b[31mno"))
}

func (f *fixed) StartPhase(name string) (report.Phase, error) {
	return report.Phase{Name: "phase 1", Start: 12}, f.note("phase", len(name))
}

func (f *fixed) note(what string, id int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.did = append(f.did, fmt.Sprint(what, id))
	return nil
}

func focus(t *testing.T, s string) grid.Focus {
	t.Helper()
	f, err := grid.ParseFocus(s)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func searched(t *testing.T) session.Snapshot {
	t.Helper()
	var values []consultant.Sample
	for i := range 60 {
		values = append(values, consultant.Sample{At: 3 + float64(i)*0.2, Value: 0.5 + 0.3*math.Sin(float64(i)/6)})
	}
	phase := consultant.Phase{Name: "global"}
	sync, cpu := "ExcessiveSyncWaitingTime", "CPUbound"
	node := func(id int, parents []int, axis, hyp, where string, state consultant.State, value float64) consultant.Node {
		return consultant.Node{ID: id, Parents: parents, Axis: axis, Hypothesis: hyp, Focus: focus(t, where), State: state, Value: value,
			Threshold: 0.2, Greater: true, Unit: "fraction", Samples: 46, Confidence: 0.99, Since: 3.1, Phase: phase, Tier: "probe"}
	}
	nodes := []consultant.Node{
		{ID: 1, Axis: "why", Hypothesis: "top", State: consultant.True, Phase: phase},
		node(2, []int{1}, "why", cpu, "/", consultant.False, 0.02),
		node(3, []int{1}, "why", sync, "/", consultant.True, 0.74),
		node(4, []int{3}, "where", sync, "/Code/cache.c/lookup", consultant.True, 0.73),
		node(5, []int{3}, "where", sync, "/SyncObject/Mutex/cache_lock", consultant.True, 0.73),
		node(6, []int{4, 5}, "where", sync, "/Code/cache.c/lookup,/SyncObject/Mutex/cache_lock", consultant.True, 0.72),
		node(7, []int{3}, "where", sync, "/Code/evil\x1b[2Jname[red].c/x\u202egnp", consultant.Testing, 0.3),
		node(8, []int{3}, "where", sync, "/Code/hot.c/tiny", consultant.OverBudget, 0),
		node(9, []int{3}, "where", sync, "/Code/a.c/b", consultant.Queued, 0),
		node(10, []int{1}, "why", "ExcessiveIOBlockingTime", "/", consultant.Refused, 0),
	}
	for _, i := range []int{7, 8, 9} {
		nodes[i].Samples = 0
	}
	nodes[5].History = values
	nodes[7].Reason = "12 % predicted"
	nodes[9].Reason = "no wrapper of read can be patched"
	return session.Snapshot{
		Targets: []report.Target{{PID: 4242, Exe: "/usr/bin/srv\x1b[0m", Threads: 4}, {PID: 4243, Exe: "/usr/bin/srv"}},
		Elapsed: 23.4, Budget: 0.02, Observed: 0.0041, Nodes: nodes, Searching: true,
		Bottlenecks: []consultant.Bottleneck{{Node: 6, Severity: 0.72, Chain: []int{1, 3, 4, 6},
			Sentence: "Threads wait 72 % of their time for mutex cache_lock in lookup (cache.c:41). That is 4.3 of 6 threads. Since 3.1 s, 99 % sure (46 readings, threshold 20 %)."}},
		By:     map[int]report.By{6: {HeldBy: []report.Held{{Thread: "thr_4250{writer}", Function: "cache.c/rebuild", Share: 0.81}}}},
		Status: "testing ExcessiveSyncWaitingTime at /Code/evil; 1 queued; 4 true, 1 false, watching 5",
	}
}

// ready is a simulated terminal that is initialised once, though the application would do it again, and lose keys.
type ready struct{ tcell.SimulationScreen }

func (ready) Init() error { return nil }

func simulate(t *testing.T, w, h int) ready {
	t.Helper()
	sim := tcell.NewSimulationScreen("UTF-8")
	if err := sim.Init(); err != nil {
		t.Fatal(err)
	}
	sim.SetSize(w, h)
	return ready{sim}
}

// screen is an app on a simulated terminal.
type screen struct {
	*app
	sim tcell.SimulationScreen
	t   *testing.T
}

func newScreen(t *testing.T, src Source, w, h int, opts Options) *screen {
	t.Helper()
	sim := simulate(t, w, h)
	t.Cleanup(sim.Fini)
	opts.Screen = sim
	return &screen{newApp(src, opts), sim, t}
}

// keys presses keys as the application would, without its loop.
func (s *screen) keys(keys ...any) *screen {
	s.tv.ForceDraw()
	for _, k := range keys {
		e := tcell.NewEventKey(tcell.KeyRune, 0, tcell.ModNone)
		switch k := k.(type) {
		case rune:
			e = tcell.NewEventKey(tcell.KeyRune, k, tcell.ModNone)
		case tcell.Key:
			e = tcell.NewEventKey(k, 0, tcell.ModNone)
		}
		if e = s.press(e); e != nil {
			s.body.InputHandler()(e, nil)
		}
		s.tv.ForceDraw()
	}
	return s
}

// text is what is on the screen, without blanks at the ends of lines.
func (s *screen) text() string {
	s.tv.ForceDraw()
	cells, w, h := s.sim.GetContents()
	var b strings.Builder
	for y := range h {
		var row strings.Builder
		for x := 0; x < w; x++ {
			c := cells[y*w+x]
			if len(c.Runes) == 0 {
				row.WriteByte(' ')
				continue
			}
			row.WriteString(string(c.Runes))
		}
		b.WriteString(strings.TrimRight(row.String(), " ") + "\n")
	}
	return b.String()
}

func (s *screen) golden(name string) {
	s.t.Helper()
	got := s.text()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		s.t.Errorf("%s differs (-want +got); if meant so, run with -update:\n%s", name, d)
	}
}

func TestGoldenScreens(t *testing.T) {
	sizes := []struct {
		name string
		w, h int
		opts Options
	}{
		{"80x24", 80, 24, Options{}}, {"40x10", 40, 10, Options{}}, {"ascii", 80, 24, Options{Mono: true, ASCII: true}},
	}
	views := []struct {
		name string
		keys []any
	}{
		{"verdict", nil}, {"tree", []any{'2'}}, {"evidence", []any{tcell.KeyEnter}}, {"help", []any{'?'}},
		{"folded", []any{'2', 'j', ' '}},
	}
	for _, size := range sizes {
		for _, v := range views {
			t.Run(v.name+"-"+size.name, func(t *testing.T) {
				s := newScreen(t, &fixed{snap: searched(t)}, size.w, size.h, size.opts).keys(v.keys...)
				s.golden(v.name + "-" + size.name)
				if size.opts.ASCII {
					s.onlyASCII()
				}
			})
		}
	}
}

func (s *screen) onlyASCII() {
	for _, r := range s.text() {
		if r > '~' {
			s.t.Errorf("%q on an ASCII screen", r)
		}
	}
}

// TestNeverEmpty: whatever is known, the first screen says something.
func TestNeverEmpty(t *testing.T) {
	whole := searched(t)
	none := session.Snapshot{Searching: true, Settled: true}
	for name, snap := range map[string]session.Snapshot{
		"nothing": {}, "begin": none, "ended": {Ended: true}, "only ruled out": {Searching: true, Status: "x", Nodes: whole.Nodes[:2]},
		"a bottleneck without its node": {Searching: true, Bottlenecks: whole.Bottlenecks},
	} {
		for _, key := range []rune{'1', '2', '?'} {
			lines := strings.Split(newScreen(t, &fixed{snap: snap}, 80, 24, Options{}).keys(key).text(), "\n")
			if strings.TrimSpace(strings.Join(lines[1:23], "")) == "" {
				t.Errorf("%s: screen %c is empty", name, key)
			}
		}
	}
	s := newScreen(t, &fixed{snap: session.Snapshot{Searching: true, Status: "x", Nodes: whole.Nodes[:2]}}, 80, 24, Options{})
	s.golden("nothing-80x24")
}

// TestTooLittleHappened: a test for small values that had nothing to look at says so, and not that its threshold is above itself.
func TestTooLittleHappened(t *testing.T) {
	ruled := searched(t).Nodes[1]
	ruled.State, ruled.Greater, ruled.Samples, ruled.Unit, ruled.Threshold = consultant.False, false, 9, "", 4096
	for value, want := range map[float64]string{4096: "too little happened", 5000: "5000 > 4096"} {
		ruled.Value = value
		if got := valueText(&ruled); got != want {
			t.Errorf("%g is shown as %q, want %q", value, got, want)
		}
		if list := facts(&ruled, "", 1); !strings.HasPrefix(list[1], "Value: "+strings.TrimSuffix(want, " > 4096")+"; it holds below 4096") {
			t.Errorf("%g is evidence as %q, want %q", value, list[1], want)
		}
	}
}

// TestNothingRawReachesTheScreen: control and direction characters in names are shown as text.
func TestNothingRawReachesTheScreen(t *testing.T) {
	for _, keys := range [][]any{{'1'}, {'2'}, {'2', tcell.KeyEnd, tcell.KeyEnter}} {
		text := newScreen(t, &fixed{snap: searched(t)}, 120, 40, Options{}).keys(keys...).text()
		if strings.ContainsAny(text, "\x1b\u202e") {
			t.Errorf("%v: raw text on the screen:\n%s", keys, text)
		}
	}
	if text := newScreen(t, &fixed{snap: searched(t)}, 120, 40, Options{}).keys('2').text(); !strings.Contains(text, `evil\x1b[2Jname[red].c`) {
		t.Errorf("the name is not shown as it is:\n%s", text)
	}
}

func TestAnySize(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {3, 2}, {10, 3}, {20, 4}, {500, 100}} {
		for _, key := range []any{'1', '2', '?', tcell.KeyEnter, tcell.KeyEnd} {
			newScreen(t, &fixed{snap: searched(t)}, size[0], size[1], Options{}).keys(key, '2', tcell.KeyPgDn, tcell.KeyEnter, tcell.KeyPgDn).text()
		}
	}
}

func TestShadow(t *testing.T) {
	rows, cut := newGraph(searched(t).Nodes).rows(nil)
	if cut || len(rows) != 11 {
		t.Fatalf("%d rows, cut %v", len(rows), cut)
	}
	full, shadow := 0, 0
	for _, r := range rows {
		if r.Node == 6 && r.Shadow {
			shadow++
		} else if r.Node == 6 {
			full++
		}
	}
	if full != 1 || shadow != 1 {
		t.Errorf("node 6: %d in full, %d shadows", full, shadow)
	}
}

// TestCycle: parents that form a circle (which the search never makes) do not hang the tree.
func TestCycle(t *testing.T) {
	nodes := []consultant.Node{{ID: 1, Parents: []int{1}}, {ID: 2, Parents: []int{3, 9}}, {ID: 3, Parents: []int{2}}, {ID: 4}, {ID: 5, Parents: []int{4, 5}}}
	if rows, _ := newGraph(nodes).rows(nil); len(rows) != 3 {
		t.Errorf("%d rows: %v", len(rows), rows)
	}
}

func TestManyNodes(t *testing.T) {
	nodes := []consultant.Node{{ID: 1}}
	for i := 2; i < 5000; i++ {
		nodes = append(nodes, consultant.Node{ID: i, Parents: []int{1}, Axis: "where", State: consultant.Never})
	}
	s := newScreen(t, &fixed{snap: session.Snapshot{Nodes: nodes}}, 80, 24, Options{}).keys('2', tcell.KeyEnd)
	if !strings.Contains(s.text(), "More than 2000 lines") {
		t.Error(s.text())
	}
}

// TestRun drives the real loop: actions reach the search, and the screens end by key and by context.
func TestRun(t *testing.T) {
	src := &fixed{snap: searched(t)}
	sim := simulate(t, 80, 24)
	done := make(chan error, 1)
	go func() { done <- Run(t.Context(), src, Options{Screen: sim}) }()
	for _, r := range "2jxprn" {
		sim.InjectKey(tcell.KeyRune, r, tcell.ModNone)
	}
	wait(t, "four actions", func() bool { src.mu.Lock(); defer src.mu.Unlock(); return len(src.did) == 4 })
	sim.InjectKey(tcell.KeyRune, 'q', tcell.ModNone)
	ended(t, done)
	src.mu.Lock()
	defer src.mu.Unlock()
	for _, did := range src.did {
		if did != "expand3" && did != "prune3" && did != "retest3" && did != "phase0" {
			t.Errorf("did %v", src.did)
		}
	}
}

func TestContextEndsTheScreens(t *testing.T) {
	for _, early := range []bool{true, false} {
		sim := simulate(t, 80, 24)
		ctx, cancel := context.WithCancel(t.Context())
		if early {
			cancel()
		}
		done := make(chan error, 1)
		go func() { done <- Run(ctx, &fixed{snap: searched(t)}, Options{Screen: sim}) }()
		time.Sleep(20 * time.Millisecond)
		cancel()
		ended(t, done)
	}
}

func ended(t *testing.T, done <-chan error) {
	t.Helper()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the screens did not end")
	}
}

func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("%s: not within 5 s", what)
}

func TestPick(t *testing.T) {
	sim := simulate(t, 80, 24)
	done := make(chan error, 1)
	go func() {
		_, err := Pick(t.Context(), Options{Screen: sim})
		done <- err
	}()
	for _, r := range "no such process, surely" {
		sim.InjectKey(tcell.KeyRune, r, tcell.ModNone)
	}
	sim.InjectKey(tcell.KeyEnter, 0, tcell.ModNone) // nothing to choose
	sim.InjectKey(tcell.KeyEscape, 0, tcell.ModNone)
	sim.InjectKey(tcell.KeyEscape, 0, tcell.ModNone)
	select {
	case err := <-done:
		if !errors.Is(err, ErrQuit) {
			t.Error(err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the list did not end")
	}
}

// TestNarrowedToAnItem: a row of the tree names the item that its refinement has chosen, and what is chosen below it.
func TestNarrowedToAnItem(t *testing.T) {
	whole, item := consultant.Node{}, grid.Whole().WithItem("Subsystem", "parser")
	if got := narrowed(item, &whole); got != "/Subsystem/parser" {
		t.Errorf("an item below the whole program: %s", got)
	}
	thread := item.Refine(grid.Process, "srv{1}", "thr_2")
	if got := narrowed(thread, &consultant.Node{Focus: item}); got != "/Process/srv{1}/thr_2" {
		t.Errorf("a thread below an item: %s", got)
	}
	if got := narrowed(grid.Whole().WithItem("Subsystem", "lexer"), &consultant.Node{Focus: item}); got != "/Subsystem/lexer" {
		t.Errorf("another item: %s", got)
	}
}

// TestPhases: the header names the phase that goes on, and screen 1 tells what holds in each; what was ruled out is told of the whole session only.
func TestPhases(t *testing.T) {
	end := report.Number(20)
	snap := searched(t)
	snap.Nodes = append(snap.Nodes, consultant.Node{ID: 900, Hypothesis: "OnlyInLoad", State: consultant.False, Samples: 5, Value: 0.1, Threshold: 0.2, Phase: consultant.Phase{Name: "load", Start: 8}})
	snap.Phases = []report.PhaseAnswer{
		{Phase: report.Phase{Name: "load", Start: 8, End: &end}, Bottlenecks: []report.Bottleneck{{Sentence: "Threads wait for late_lock."}}},
		{Phase: report.Phase{Name: "2", Start: 20}, Open: 3},
	}
	snap.Cycle = &report.Cycle{Seconds: 4, From: 3, To: report.Number(snap.Elapsed), What: "CPUbound at the whole program went between 1 % and 95 %"}
	text := newScreen(t, &fixed{snap: snap}, 100, 60, Options{}).text()
	for _, want := range []string{"The program does the same again every 4.0 s, from 3.0 s: CPUbound", "phase 2 since 20.0 s", "In phase load, from 8.0 s to 20.0 s:", "1. Threads wait for late_lock.", "In phase 2, from 20.0 s:", "But 3 questions about the whole program are not answered in it."} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "OnlyInLoad") {
		t.Errorf("what a phase has ruled out is told of the whole session\n%s", text)
	}
}
