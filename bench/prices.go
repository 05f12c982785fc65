package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	"culprit/daemon"
	"culprit/grid"
	"culprit/pcl"
)

// priceFoci are where a metric is tried: at the first where it has code that the program runs.
var priceFoci = []string{"/", "/Code/prices.c/work", "/Code/prices.c/spin/loop_1"}

// prices holds what pcl disasm says of each metric of the default library against what it costs.
func prices(r *Result, rounds int) error {
	l, err := loopOf("bench/target/prices.c")
	if err != nil {
		return err
	}
	defer l.stop()
	lib, _, err := pcl.Load(pcl.Options{})
	if err != nil {
		return err
	}
	d, err := daemon.Attach(context.Background(), daemon.Options{Library: lib}, l.cmd.Process.Pid)
	if err != nil {
		return err
	}
	defer d.Detach()
	d.Known()
	for _, m := range lib.Metrics() {
		for _, focus := range priceFoci {
			p, err := price(l, d, m.Name, focus, rounds)
			if err != nil {
				return err
			}
			if p != nil {
				r.Prices = append(r.Prices, *p)
				break
			}
		}
	}
	return nil
}

// price is nil where the metric has no code at the focus that the program runs.
func price(l *loop, d *daemon.Daemon, metric, focus string, rounds int) (*Price, error) {
	f, err := grid.ParseFocus(focus)
	if err != nil {
		return nil, err
	}
	list, err := d.Disassemble(grid.PairKey{Metric: metric, Focus: f}, 1<<20)
	if err != nil {
		return nil, nil // the metric cannot be restricted so, or the program lacks what it needs
	}
	p := &Price{Metric: metric, Focus: focus}
	passed := map[string]bool{}
	for _, s := range list[0].Sites {
		name, ours := strings.CutPrefix(s.Function, "prices.c/")
		if !ours || name == "main" || strings.HasPrefix(name, "turns_") || name == "now_ns" {
			continue
		}
		passed[name] = true
		p.Probes += len(s.Points)
		p.SaidNS += s.PriceNS
	}
	if p.Probes == 0 {
		return nil, nil
	}
	for _, name := range slices.Sorted(maps.Keys(passed)) {
		_, ns, err := added(l, d, name, metric, focus, rounds)
		if err != nil {
			return nil, err
		}
		p.MeasuredNS += ns
	}
	p.Ratio = p.SaidNS / p.MeasuredNS
	return p, nil
}
