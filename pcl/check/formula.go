package check

import (
	"slices"
	"strings"

	"culprit/pcl"
	"culprit/pcl/syntax"
)

// An exprReader turns expressions of hypotheses and expectations into functions and notes what they read.
type exprReader struct {
	b       *builder
	metrics []string // in order of first use
	global  []string // of them, those read at the whole program
	local   map[string]bool

	expects  bool          // it is of an expectation, which may look at single values and compare with <= and >=
	readings []pcl.Reading // in order of first use
}

// comparison reads EXPR < EXPR or EXPR > EXPR, in expectations with <= and >= as well.
func (r *exprReader) comparison(e *syntax.Expr) (c pcl.Comparison, err error) {
	if err := r.isComparison(e); err != nil {
		return c, err
	}
	c.Greater, c.OrEqual = e.Text[0] == '>', len(e.Text) > 1
	if c.Left, err = r.read(e.X); err != nil {
		return c, err
	}
	if c.Right, err = r.read(e.Y); err != nil {
		return c, err
	}
	c.Unit, c.Share = r.unitOfTest(e), r.isShare(e.X)
	return c, nil
}

func (r *exprReader) isComparison(e *syntax.Expr) error {
	allowed := []string{"<", ">"}
	if r.expects {
		allowed = append(allowed, "<=", ">=")
	}
	list := `"` + orList(allowed, `", "`, `" or "`) + `"`
	switch {
	case e.Kind == syntax.Binary && slices.Contains(allowed, e.Text):
		return nil
	case e.Kind == syntax.Binary && (e.Text == "<=" || e.Text == ">="):
		return syntax.ErrorAt(e.Pos, "found %q, expected %s: a test holds for averages, of which none lies just at the threshold; write %s", e.Text, list, e.Text[:1])
	case e.Kind == syntax.Binary && (e.Text == "==" || e.Text == "!="):
		return syntax.ErrorAt(e.Pos, "found %q, expected %s: averages are never just a number", e.Text, list)
	case e.Kind == syntax.Binary && e.Text == "&&":
		return syntax.ErrorAt(e.Pos, "found %q, expected one comparison: write two, each with a definition or a line of its own", e.Text)
	}
	return syntax.ErrorAt(e.Pos, `found %s, expected a comparison with %s`, e, list)
}

// orList joins words, the last two with another word between them.
func orList(words []string, sep, last string) string {
	n := len(words) - 1
	return strings.Join(words[:n], sep) + last + words[n]
}

func (r *exprReader) read(e *syntax.Expr) (pcl.Formula, error) {
	switch e.Kind {
	case syntax.Number:
		n := e.Float
		return func(func(string) float64) float64 { return n }, nil
	case syntax.Ident:
		return r.name(e)
	case syntax.At:
		return r.at(e)
	case syntax.Negate:
		x, err := r.read(e.X)
		return func(get func(string) float64) float64 { return -x(get) }, err
	case syntax.Binary:
		return r.binary(e)
	case syntax.Call:
		return r.call(e)
	}
	return nil, syntax.ErrorAt(e.Pos, "found %s, expected metrics, tunable constants, numbers, + - * /, min and max", e)
}

// name is a metric at the focus that is tested, or a tunable constant.
func (r *exprReader) name(e *syntax.Expr) (pcl.Formula, error) {
	if m := r.b.metric(e.Text); m != nil {
		if slices.Contains(r.global, m.Name) {
			return nil, r.twoFoci(e, m)
		}
		r.local[m.Name] = true
		r.reads(pcl.Reading{Name: m.Name, Metric: m.Name})
		return r.use(m), nil
	}
	tunables := r.b.defs.Tunables
	if _, ok := tunables.Value(e.Text); ok {
		name := e.Text
		return func(func(string) float64) float64 { v, _ := tunables.Value(name); return v }, nil
	}
	return nil, r.unknown(e)
}

func (r *exprReader) unknown(e *syntax.Expr) error {
	known := r.b.metricNames()
	if e.Kind == syntax.Ident {
		known = slices.Concat(known, r.b.tunableNames())
	}
	return syntax.ErrorAt(e.Pos, "found the unknown name %q, expected a metric or a tunable constant%s", e.Text, syntax.DidYouMean(e.Text, known))
}

func (r *exprReader) use(m *pcl.Metric) pcl.Formula {
	if !slices.Contains(r.metrics, m.Name) {
		r.metrics = append(r.metrics, m.Name)
	}
	name := m.Name
	return func(get func(string) float64) float64 { return get(name) }
}

func (r *exprReader) twoFoci(e *syntax.Expr, m *pcl.Metric) error {
	return syntax.ErrorAt(e.Pos, `found %s at the tested focus and as %s@"/", expected one of them in one test`, m.Name, m.Name)
}

// at is METRIC@"/".
func (r *exprReader) at(e *syntax.Expr) (pcl.Formula, error) {
	m := r.b.metric(e.Text)
	if m == nil {
		return nil, r.unknown(e)
	}
	focus, err := pcl.ParseFocus(e.X.Text)
	if err != nil {
		return nil, syntax.ErrorAt(e.X.Pos, "found a bad focus: %v", err)
	}
	if !focus.IsWhole() {
		return nil, syntax.ErrorAt(e.X.Pos, `found the focus %v, expected "/": a test reads its own focus and the whole program only`, focus)
	}
	if r.local[m.Name] {
		return nil, r.twoFoci(e, m)
	}
	if !slices.Contains(r.global, m.Name) {
		r.global = append(r.global, m.Name)
	}
	r.reads(pcl.Reading{Name: m.Name, Metric: m.Name, Whole: true})
	return r.use(m), nil
}

func (r *exprReader) binary(e *syntax.Expr) (pcl.Formula, error) {
	op, ok := arithmetic[e.Text]
	if !ok {
		return nil, syntax.ErrorAt(e.Pos, "found %q, expected + - * or / on each side of the comparison", e.Text)
	}
	x, err := r.read(e.X)
	if err != nil {
		return nil, err
	}
	y, err := r.read(e.Y)
	return func(get func(string) float64) float64 { return op(x(get), y(get)) }, err
}

var arithmetic = map[string]func(x, y float64) float64{
	"+": func(x, y float64) float64 { return x + y },
	"-": func(x, y float64) float64 { return x - y },
	"*": func(x, y float64) float64 { return x * y },
	"/": func(x, y float64) float64 {
		if y == 0 {
			return 0
		}
		return x / y
	},
}

func (r *exprReader) call(e *syntax.Expr) (pcl.Formula, error) {
	if of, err := r.view(e); of != nil || err != nil {
		return of, err
	}
	pick := map[string]func(x, y float64) float64{"min": func(x, y float64) float64 { return min(x, y) },
		"max": func(x, y float64) float64 { return max(x, y) }}[e.Text]
	if pick == nil {
		known := []string{"min", "max"}
		if r.expects {
			known = append(known, viewWords()...)
		}
		return nil, syntax.ErrorAt(e.Pos, "found a call of %q, expected %s%s", e.Text, orList(known, ", ", " or "), syntax.DidYouMean(e.Text, known))
	}
	if len(e.Args) == 0 {
		return nil, syntax.ErrorAt(e.Pos, "found %s, expected at least one argument", e)
	}
	var args []pcl.Formula
	for _, a := range e.Args {
		x, err := r.read(a)
		if err != nil {
			return nil, err
		}
		args = append(args, x)
	}
	return func(get func(string) float64) float64 {
		out := args[0](get)
		for _, a := range args[1:] {
			out = pick(out, a(get))
		}
		return out
	}, nil
}

// view reads p99(METRIC), mean(METRIC) and count(METRIC); nil if the call is none of them.
func (r *exprReader) view(e *syntax.Expr) (pcl.Formula, error) {
	if !slices.Contains(viewWords(), e.Text) {
		return nil, nil
	}
	if !r.expects {
		return nil, syntax.ErrorAt(e.Pos, "found %s in a hypothesis, expected it in expect only: the search tests averages", e)
	}
	if len(e.Args) != 1 || e.Args[0].Kind != syntax.Ident {
		return nil, syntax.ErrorAt(e.Pos, "found %s, expected %s(METRIC)", e, e.Text)
	}
	m := r.b.metric(e.Args[0].Text)
	switch {
	case m == nil:
		return nil, r.unknown(e.Args[0])
	case m.Values == "":
		return nil, syntax.ErrorAt(e.Args[0].Pos, "found %s of %s, expected it of a metric with a base of histogram(..): only such a one keeps single values", e.Text, m.Name)
	case slices.Contains(r.global, m.Name):
		return nil, r.twoFoci(e.Args[0], m)
	}
	r.local[m.Name] = true
	r.use(m)
	name := e.Text + "(" + m.Name + ")"
	r.reads(pcl.Reading{Name: name, Metric: m.Name, View: pcl.View(e.Text)})
	return func(get func(string) float64) float64 { return get(name) }, nil
}

// viewWords are the words of views in expectations.
func viewWords() []string {
	return []string{"p50", "p90", "p95", "p99", "p999", string(pcl.Mean), string(pcl.Count)}
}

// reads notes a reading once.
func (r *exprReader) reads(one pcl.Reading) {
	if !slices.Contains(r.readings, one) {
		r.readings = append(r.readings, one)
	}
}
