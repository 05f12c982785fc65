package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	"culprit/daemon"
	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/check"
)

// priceFoci are where a metric is tried: at the first where it has code that the program runs.
var priceFoci = []string{"/", "/Code/prices.c/work", "/Code/prices.c/spin/loop_1"}

// notCalled are the program's functions that are not called once a turn.
var notCalled = []string{"main", "now_ns", "MPI_Init", "MPI_Type_size"}

// prices holds what pcl disasm says of each metric of the default library against what it costs.
func prices(r *Result, rounds int) error {
	l, err := loopOf("bench/target/prices.c")
	if err != nil {
		return err
	}
	defer l.stop()
	lib, _, err := check.Load(check.Options{})
	if err != nil {
		return err
	}
	tried := map[string]*trials{}
	for range rounds {
		for _, m := range lib.Metrics() {
			if tried[m.Name] == nil {
				tried[m.Name] = &trials{}
			}
			if err := tried[m.Name].round(l, lib, m.Name); err != nil {
				return err
			}
		}
	}
	for _, m := range lib.Metrics() {
		if t := tried[m.Name]; t.said != nil {
			r.Prices = append(r.Prices, t.price())
		}
	}
	return nil
}

// trials are the rounds of one metric, which lie far apart. Processors are slower for seconds when somebody else is on them: what
// counts is the least of the rounds, of the price that a daemon says which has just tried it, and of the calls with probes and without.
type trials struct {
	last               *Price
	said, bare, probed []float64
}

// round adds nothing where the metric has no code that the program runs.
func (t *trials) round(l *loop, lib *pcl.Library, metric string) error {
	d, err := daemon.Attach(context.Background(), daemon.Options{Library: lib}, l.cmd.Process.Pid)
	if err != nil {
		return err
	}
	defer d.Detach()
	d.Known()
	for _, focus := range priceFoci {
		p, passed, err := saidPrice(d, metric, focus)
		if err != nil || p == nil {
			continue // the metric cannot be restricted so, or the program lacks what it needs
		}
		var bare, probed float64
		for _, name := range passed {
			without, extra, err := added(l, d, name, metric, focus, 1)
			if err != nil {
				return err
			}
			bare, probed = bare+without, probed+without+extra
		}
		t.last, t.said, t.bare, t.probed = p, append(t.said, p.SaidNS), append(t.bare, bare), append(t.probed, probed)
		return nil
	}
	return nil
}

func (t *trials) price() Price {
	p := *t.last
	p.SaidNS, p.MeasuredNS = slices.Min(t.said), slices.Min(t.probed)-slices.Min(t.bare)
	p.Ratio = p.SaidNS / p.MeasuredNS
	return p
}

// saidPrice is what disasm says of the functions that the program calls, and which these are; nil if there are none.
func saidPrice(d *daemon.Daemon, metric, focus string) (*Price, []string, error) {
	f, err := grid.ParseFocus(focus)
	if err != nil {
		return nil, nil, err
	}
	list, err := d.Disassemble(grid.PairKey{Metric: metric, Focus: f}, 1<<20)
	if err != nil {
		return nil, nil, err
	}
	p := &Price{Metric: metric, Focus: focus}
	passed := map[string]bool{}
	for _, s := range list[0].Sites {
		name, ours := strings.CutPrefix(s.Function, "prices.c/")
		if !ours || slices.Contains(notCalled, name) || strings.HasPrefix(name, "turns_") {
			continue
		}
		passed[name] = true
		p.Probes += len(s.Points)
		p.SaidNS += s.PriceNS
	}
	if p.Probes == 0 {
		return nil, nil, nil
	}
	return p, slices.Sorted(maps.Keys(passed)), nil
}
