package daemon

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"culprit/daemon/libc"
	"culprit/daemon/patch"
	"culprit/daemon/program"
	"culprit/daemon/segment"
	"culprit/grid"
	"culprit/internal/testprog"
)

var freePiece = regexp.MustCompile(`(\d+) KiB are needed, the largest free piece has (\d+) KiB`)

// sayRoom checks that an error says how much memory was within reach, a little more than the target has left.
func sayRoom(t *testing.T, err error) {
	t.Helper()
	m := freePiece.FindStringSubmatch(err.Error())
	if m == nil {
		t.Fatalf("the error does not say how much was within reach: %v", err)
	}
	if kib, _ := strconv.Atoi(m[2]); kib < 4 || kib >= segment.LargeIsland>>10 {
		t.Errorf("%d KiB within reach: %v", kib, err)
	}
	t.Log(err)
}

// TestNoRoomAnywhere: where no trampoline can be placed near the code of a program, or of its libraries, nothing is attached at
// all, nothing is left behind, and the error says how much memory was within reach.
func TestNoRoomAnywhere(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"program", "libraries"} {
		for _, b := range []build{builds[0], builds[1], builds[2]} {
			if where == "libraries" && b.name == "static" {
				continue // it has none
			}
			t.Run(where+"/"+b.name, func(t *testing.T) {
				p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/crowded.c", b.flags...), where)
				d, err := Attach(context.Background(), Options{Library: library(t)}, p.PID)
				if err == nil {
					d.Detach()
					t.Fatal("attached without room")
				}
				sayRoom(t, err)
				if v, err := patch.Verify(p.PID); err != nil || !v.Clean() {
					t.Errorf("after a refusal: %+v, %v", v, err)
				}
				p.MustBeat(t, 5*time.Second)
				p.Stop(t)
			})
		}
	}
}

// TestNoRoomNearALibrary: a library that comes later, without room around it, is refused as a whole; everything else is measured.
func TestNoRoomNearALibrary(t *testing.T) {
	t.Parallel()
	plugin := testprog.Build(t, "daemon/testdata/bigplugin.c", "-shared", "-fPIC")
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/far.c"), plugin)
	d := attachTo(t, p.PID)
	p.Say(t, "crowd")
	t.Log(p.Expect(t, "LOADED", 5*time.Second))
	keys := waitForPlugin(t, d)
	elsewhere := functionsOf(d, "procedure_calls", func(f *program.Function) bool { return libc.IsC(f.Obj.Name) && f.Fn.Name == "poll" })[0]
	stops := d.targets[0].Stops.Count()
	var s sums
	for _, r := range d.Enable(append(keys, elsewhere), &s) {
		var refused grid.ErrRefused
		switch {
		case r.Key == elsewhere && r.Err != nil:
			t.Errorf("beside a library without room: %v", r.Err)
		case r.Key != elsewhere && (!errors.As(r.Err, &refused) || !strings.Contains(refused.Reason, "no room")):
			t.Errorf("%s: %v", r.Key, r.Err)
		case r.Key == keys[0]:
			sayRoom(t, refused)
		}
	}
	t.Logf("%d functions refused in %d stops", len(keys), d.targets[0].Stops.Count()-stops)
	time.Sleep(300 * time.Millisecond)
	d.Disable([]grid.PairKey{elsewhere})
	if s.of(elsewhere) == 0 {
		t.Error("nothing was counted elsewhere")
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}
