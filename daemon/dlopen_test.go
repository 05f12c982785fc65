package daemon

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"culprit/daemon/libc"
	"culprit/daemon/patch"
	"culprit/daemon/program"
	"culprit/grid"
	"culprit/internal/testprog"
)

// pluginKeys are pairs with the functions of the plugin, none while it is not loaded.
func pluginKeys(d *Daemon, metric string) []grid.PairKey {
	return functionsOf(d, metric, func(f *program.Function) bool { return strings.HasSuffix(f.Obj.Name, "plugin") })
}

// waitForPlugin waits until the daemon has seen the plugin and its functions can be instrumented.
func waitForPlugin(t *testing.T, d *Daemon) []grid.PairKey {
	t.Helper()
	for range 100 {
		d.discover()
		if keys := pluginKeys(d, "procedure_calls"); len(keys) > 0 {
			return keys
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the functions of a library that was loaded after attach do not appear")
	return nil
}

// TestLoadedAfterAttach instruments a library that the target loads late, and lets it go again and again under the probes.
func TestLoadedAfterAttach(t *testing.T) {
	t.Parallel()
	plugin := testprog.Build(t, "testdata/targets/plugin.c", "-shared", "-fPIC")
	bin := testprog.Build(t, "testdata/targets/dlopener.c")
	want := undisturbed(t, bin, plugin)
	p := testprog.StartTarget(t, bin, plugin)
	d := attachTo(t, p.PID)
	var s sums
	p.Say(t, "hold")
	work := func(when string) {
		keys := waitForPlugin(t, d)
		on := enableAll(t, d, &s, keys)
		before := map[string]float64{}
		for _, k := range on {
			before[k.String()] = s.of(k)
		}
		time.Sleep(300 * time.Millisecond)
		d.Disable(on)
		counted := 0
		for _, k := range on {
			if s.of(k) > before[k.String()] {
				counted++
			}
		}
		if counted < 2 {
			t.Errorf("%s: %d of %d functions of the plugin were called", when, counted, len(on))
		}
	}
	work("held")
	waitForPlugin(t, d)
	watched := key(t, "procedure_calls", "/Code/plugin.c")
	d.mustEnable(t, &s, watched)
	if note := d.Notes(watched); note != "" {
		t.Errorf("nothing is missing yet: %q", note)
	}
	p.Say(t, "release")
	comings := storm(t, d, p)
	p.Say(t, "hold")
	time.Sleep(50 * time.Millisecond)
	if note := d.Notes(watched); !strings.Contains(note, "its calls are not counted, and times may be wrong") {
		t.Errorf("calls are missing, and nothing says so: %q", note)
	}
	d.Disable([]grid.PairKey{watched})
	work("held again")
	detachClean(t, d, p.PID)
	if got := p.Stop(t); got != want {
		t.Errorf("hash %s, undisturbed %s", got, want)
	}
	t.Logf("instrumented %d times while it came and went %d times", comings, p.Counts()["dlopen"])
}

// storm instruments the plugin, whenever it is seen, while it is loaded and unloaded about once a millisecond.
func storm(t *testing.T, d *Daemon, p *testprog.Prog) (times int) {
	t.Helper()
	var s sums
	for until := time.Now().Add(time.Duration(rounds(1500, 60000)) * time.Millisecond); time.Now().Before(until); {
		d.discover()
		keys := append(pluginKeys(d, "procedure_calls"), pluginKeys(d, "exec_time_inclusive")...)
		keys = append(keys, nameOf(t, d, "procedure_calls", "use"))
		for _, r := range d.Enable(keys, &s) {
			if r.Err == nil {
				times++
			}
		}
		if times%2 == 0 {
			d.discover()
		}
		d.Disable(keys)
		d.Settle()
		if !p.Alive() {
			t.Fatalf("the target has died: status %d, last lines %q", p.Wait(t, time.Second), last(p.Lines(), 3))
		}
	}
	return times
}

// TestLoadedFarAway: a library that is out of the reach of all trampoline memory gets some of its own.
func TestLoadedFarAway(t *testing.T) {
	t.Parallel()
	plugin := testprog.Build(t, "daemon/testdata/bigplugin.c", "-shared", "-fPIC")
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/far.c"), plugin)
	d := attachTo(t, p.PID)
	p.Say(t, "load")
	t.Log(p.Expect(t, "LOADED", 5*time.Second))
	keys := waitForPlugin(t, d)
	islands := len(d.targets[0].Seg.Islands)
	var s sums
	on := enableAll(t, d, &s, append(keys, pluginKeys(d, "exec_time_inclusive")...))
	if got := len(d.targets[0].Seg.Islands); got != islands+1 {
		t.Errorf("%d islands, there were %d: the library is not far enough away for this test", got, islands)
	}
	time.Sleep(300 * time.Millisecond)
	d.Disable(on)
	calls := 0.0
	for _, k := range on {
		if k.Metric == "procedure_calls" {
			calls += s.of(k)
		}
	}
	if calls < 1000 {
		t.Errorf("%v calls counted", calls)
	}
	if v, err := patch.Verify(p.PID); err != nil || v.Descriptors != 0 {
		t.Errorf("%+v, %v", v, err)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestMappedTwice has programs that map a file a second time: their own, and the C library that dlmopen brings. What lies between the two
// belongs to neither, and only the first C library stays for good. Attached while the second is there, and before.
func TestMappedTwice(t *testing.T) {
	t.Parallel()
	plugin := testprog.Build(t, "testdata/targets/plugin.c", "-shared", "-fPIC", "-Wl,--no-as-needed", "-lc")
	bin := testprog.Build(t, "testdata/targets/dlopener.c")
	want := undisturbed(t, bin, plugin, "50", "0", "1")
	for _, away := range []string{"0", "1"} {
		p := testprog.StartTarget(t, bin, plugin, "50", away, "1")
		if away == "0" {
			p.Say(t, "hold")
		}
		d := attachTo(t, p.PID)
		p.Say(t, "hold")
		var s sums
		keys := waitForPlugin(t, d)
		d.discover() // what the plugin needs is mapped after it
		checkObjects(t, d, away == "1")
		on := enableAll(t, d, &s, append(keys, nameOf(t, d, "procedure_calls", "use")))
		time.Sleep(300 * time.Millisecond)
		d.Disable(on)
		work, use := 0.0, s.of(nameOf(t, d, "procedure_calls", "use"))
		for _, k := range keys {
			if strings.HasSuffix(k.String(), "/plugin_work") {
				work = s.of(k)
			}
		}
		if use == 0 || work < 49*use || work > 51*use {
			t.Errorf("away %s: %v calls of plugin_work, %v of use", away, work, use)
		}
		p.Say(t, "release")
		comings := storm(t, d, p)
		detachClean(t, d, p.PID)
		if got := p.Stop(t); got != want {
			t.Errorf("away %s: hash %s, undisturbed %s", away, got, want)
		}
		t.Logf("away %s: instrumented %d times while it came and went %d times", away, comings, p.Counts()["dlopen"])
	}
}

// TestMappedPartly: of a file that is mapped a second time in part only those functions are there twice that are mapped.
func TestMappedPartly(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/partly.c"), "1000")
	d := attachTo(t, p.PID)
	var s sums
	keys := map[string]grid.PairKey{}
	for _, name := range []string{"first", "second", "third"} {
		keys[name] = key(t, "procedure_calls", "/Code/partly.c/"+name)
	}
	d.mustEnable(t, &s, slices.Collect(maps.Values(keys))...)
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	d.tickAll()
	for name, k := range keys {
		if got, want := s.of(k), float64(p.Counts()[name]); got != want || want == 0 {
			t.Errorf("%s: %v calls counted, want %v", name, got, want)
		}
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// checkObjects checks that no two objects overlap, that each is the file that is mapped there, and which C libraries are taken to stay.
func checkObjects(t *testing.T, d *Daemon, first bool) {
	t.Helper()
	d.lockAll()
	defer d.unlockAll()
	tgt := d.targets[0]
	maps, err := tgt.Proc.Maps()
	if err != nil {
		t.Fatal(err)
	}
	libcs, stay := 0, 0
	for i, o := range tgt.Objects() {
		if i > 0 && o.Lo < tgt.Objects()[i-1].Hi {
			t.Errorf("%s at [%#x, %#x) overlaps %s, which ends at %#x", o.Name, o.Lo, o.Hi, tgt.Objects()[i-1].Name, tgt.Objects()[i-1].Hi)
		}
		for _, m := range maps {
			if m.Inode != 0 && o.Holds(uint64(m.Start)) && (m.Inode != o.File.Inode || m.Dev != o.File.Dev) {
				t.Errorf("%s at [%#x, %#x) has a mapping of %s in it", o.Name, o.Lo, o.Hi, m.Path)
			}
		}
		if libc.IsC(o.Name) {
			libcs++
			if o.Resident() {
				stay++
			}
		}
	}
	if want := map[bool]int{true: 1, false: 0}[first]; libcs != 2 || stay != want {
		t.Errorf("%d C libraries, %d of which stay; want 2 and %d", libcs, stay, want)
	}
}
