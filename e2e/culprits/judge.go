package main

import (
	"fmt"
	"regexp"

	"culprit/session/report"
)

// A verdict is what an answer of culprit is worth.
type verdict struct {
	First   bool     `json:"first"`             // the first finding is right; of a healthy program: nothing was found
	Found   bool     `json:"found"`             // any finding is right
	Level   string   `json:"level"`             // how far down the best finding came
	Seconds *float64 `json:"seconds,omitempty"` // when the first right finding turned out true, since the session started
	Blamed  []string `json:"blamed,omitempty"`  // sentences about what is not the cause
	Said    string   `json:"said,omitempty"`    // the sentence of the first finding
	All     []string `json:"all,omitempty"`     // the sentences of all findings
	Place   string   `json:"place,omitempty"`   // hypothesis and place of the first finding, without process and thread ids
	reached reach
}

// A reach is how much of a right answer a finding has.
type reach struct {
	hypothesis    bool
	places, outOf int
}

// better orders reaches: any place is more than a hypothesis alone, and all places are most.
func (r reach) better(o reach) bool {
	if r.hypothesis != o.hypothesis {
		return r.hypothesis
	}
	return r.places*max(o.outOf, 1) > o.places*max(r.outOf, 1)
}

func (r reach) whole() bool { return r.hypothesis && r.places == r.outOf }

func (r reach) String() string {
	switch {
	case !r.hypothesis:
		return "-"
	case r.whole():
		return "place"
	case r.places == 0:
		return "hypothesis"
	}
	return fmt.Sprintf("%d of %d places", r.places, r.outOf)
}

// judge compares the findings of a report with what is right. Notes do not count.
func judge(e *expectation, r *report.Report) verdict {
	var v verdict
	for i := range r.Bottlenecks {
		b := &r.Bottlenecks[i]
		v.All = append(v.All, b.Sentence)
		if e.healthy {
			v.Blamed = append(v.Blamed, b.Sentence)
			continue
		}
		v.take(e, r, b, i == 0)
	}
	if len(v.All) > 0 {
		n := r.Node(r.Bottlenecks[0].Node)
		v.Said, v.Place = v.All[0], n.Hypothesis+" "+withoutIDs(n.Focus)
	}
	v.Level = v.reached.String()
	if e.healthy && len(v.All) == 0 {
		v.First, v.Found = true, true
	}
	return v
}

// take judges one finding of a program that has a cause.
func (v *verdict) take(e *expectation, r *report.Report, b *report.Bottleneck, first bool) {
	got := e.reach(r, b)
	if got.better(v.reached) {
		v.reached = got
	}
	node := r.Node(b.Node)
	switch {
	case got.whole():
		v.First = v.First || first
		v.Found = true
		if v.Seconds == nil {
			at := float64(node.Since)
			v.Seconds = &at
		}
	case anyPlaceAt(e.never, node.Focus):
		v.Blamed = append(v.Blamed, b.Sentence)
	}
}

func anyPlaceAt(list []place, f report.Focus) bool {
	for _, p := range list {
		if p.at(f) {
			return true
		}
	}
	return false
}

// reach is how much a finding has of the right answer that it is nearest to.
func (e *expectation) reach(r *report.Report, b *report.Bottleneck) (best reach) {
	hypothesis := r.Node(b.Node).Hypothesis
	for _, a := range e.right {
		one := reach{outOf: len(a.places)}
		for _, h := range a.hypotheses {
			one.hypothesis = one.hypothesis || h == hypothesis
		}
		if !one.hypothesis {
			continue
		}
		for _, p := range a.places {
			if e.names(r, b, p) {
				one.places++
			}
		}
		if one.better(best) {
			best = one
		}
	}
	return best
}

// names reports whether a finding has a place: among its coordinates, in its sentence, or on the way that led to it. Who blames what is never
// the cause has not got there by the way.
func (e *expectation) names(r *report.Report, b *report.Bottleneck, p place) bool {
	own := r.Node(b.Node).Focus
	if p.at(own) || p.in(b.Sentence) {
		return true
	}
	if anyPlaceAt(e.never, own) {
		return false
	}
	for _, id := range b.Chain {
		if p.at(r.Node(id).Focus) {
			return true
		}
	}
	return false
}

// idInName are the numbers of processes, threads and pipes in names.
var idInName = regexp.MustCompile(`\{\d+\}|\bthr_\d+|:\[\d+\]|\[\d+\]`)

// withoutIDs writes a focus so that two runs of one program compare.
func withoutIDs(f report.Focus) string { return idInName.ReplaceAllString(f.String(), "") }
