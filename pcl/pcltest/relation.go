package pcltest

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"culprit/pcl/syntax"
)

// A Relation is what a value is compared with.
type Relation struct {
	Op      string // "is", "<", "<=", ">" or ">="
	Text    string // of the whole, as written
	Want    *Expr
	Within  *Expr // nil: exactly
	Percent bool  // Within is in percent of Want
}

// operators are the words that a relation may begin with.
var operators = []string{"is", "<", "<=", ">", ">="}

// Verdict says whether a value is as it should be, and what was expected of it. The error is that of an expression.
func (r Relation) Verdict(got float64, value func(string) (float64, error)) (ok bool, expected string, err error) {
	want, err := r.Want.Eval(value)
	if err != nil {
		return false, "", err
	}
	if r.Op != "is" {
		return compare(r.Op, got, want), r.Op + " " + Number(want), nil
	}
	if r.Within == nil {
		return same(got, want), Number(want), nil
	}
	within, err := r.Within.Eval(value)
	if err != nil {
		return false, "", err
	}
	if r.Percent {
		return math.Abs(got-want) <= math.Abs(want)*within/100, fmt.Sprintf("%s within %s%%, %s", Number(want), Number(within), off(got, want)), nil
	}
	return math.Abs(got-want) <= within, fmt.Sprintf("%s within %s, it is %s off", Number(want), Number(within), Number(math.Abs(got-want))), nil
}

// same reports whether two numbers are equal: whole ones exactly, others to 12 digits, since averages are rounded.
func same(got, want float64) bool {
	return got == want || got != math.Trunc(got) && math.Abs(got-want) <= 1e-12*math.Abs(want)
}

// compare is false where a value is missing.
func compare(op string, a, b float64) bool {
	switch op {
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	}
	return a >= b
}

// off tells by how much a value is wrong.
func off(got, want float64) string {
	if want == 0 || math.IsNaN(got) {
		return "it is not"
	}
	return fmt.Sprintf("it is %+.2f%% off", 100*(got-want)/want)
}

// Number writes whole numbers as they are and others with the digits that matter.
func Number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) <= 1<<53 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// relation reads "is EXPR [within EXPR[%]]" or "< EXPR", from word i on up to word end.
func (p *parser) relation(i, end int) (r Relation) {
	l := p.line
	if i >= end {
		p.fail(l.at(l.end), "found the end of the line, expected one of %s", list(operators))
		return r
	}
	r.Op = l.words[i].Plain
	if !contains(operators, r.Op) {
		p.fail(l.words[i].Pos, "found %s, expected one of %s%s", shorten(r.Op), list(operators), syntax.DidYouMean(r.Op, operators))
		return r
	}
	within := end
	for j := i + 1; j < end && r.Op == "is"; j++ {
		if l.words[j].Plain == "within" {
			within = j
			break
		}
	}
	r.Text = strings.TrimSpace(l.text[l.start(i):l.start(end)])
	r.Want = p.expression(i+1, within)
	if within < end {
		r.Within, r.Percent = p.tolerance(within+1, end)
	}
	return r
}

// expression reads the words from i up to end.
func (p *parser) expression(i, end int) *Expr {
	e, err := p.line.expression(p.line.start(i), p.line.start(end))
	if err != nil {
		p.err = first(p.err, err)
	}
	return e
}

func (p *parser) tolerance(i, end int) (e *Expr, percent bool) {
	from, to := p.line.start(i), p.line.start(end)
	for to > from && blank(p.line.text[to-1]) {
		to--
	}
	if to > from && p.line.text[to-1] == '%' {
		percent = true
		to--
	}
	e, err := p.line.expression(from, to)
	if err != nil {
		p.err = first(p.err, err)
	}
	return e, percent
}

// start is where word i begins in the line's text; behind the last one, where that ends.
func (l *line) start(i int) int {
	if i < len(l.words) {
		return l.words[i].Pos.Off - l.off
	}
	return l.end
}
