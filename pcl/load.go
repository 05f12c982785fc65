package pcl

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"culprit/pcl/lib"
	"culprit/pcl/syntax"
)

// Options say what is loaded, in this order: the default library, UserDir/*.pcl by name, Files, Texts. A later
// definition of a name replaces the earlier one.
type Options struct {
	NoDefault bool
	UserDir   string   // "" or a directory that need not exist
	Files     []string // each must be readable
	Texts     []string // PCL as given on the command line
}

// Load reads, checks and merges texts. A definition that has an error is left out, which a Problem reports; if an
// earlier definition of the same name was sound, that one stays in force. The error is not nil only if one of Files
// could not be read; the library is nil then.
func Load(o Options) (*Library, []Problem, error) {
	b := newBuilder()
	if !o.NoDefault {
		for _, f := range lib.Files() {
			b.text(f.Name, f.Text)
		}
	}
	b.userDir(o.UserDir)
	for _, name := range o.Files {
		text, err := readText(name)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot read the PCL file %s: %w", name, err)
		}
		b.text(name, text)
	}
	for i, text := range o.Texts {
		b.text(fmt.Sprintf("-e[%d]", i+1), text)
	}
	b.build()
	return b.lib, b.problems.all(), nil
}

// readText reads one file, no more of it than the parser would take.
func readText(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var text strings.Builder
	text.Grow(int(min(info.Size(), syntax.MaxText+1)))
	_, err = io.Copy(&text, io.LimitReader(f, syntax.MaxText+1))
	return text.String(), err
}

// userDir reads the user's own files. One that cannot be read is a problem, not an error: nobody named it.
func (b *builder) userDir(dir string) {
	if dir == "" {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.problem(Problem{Msg: fmt.Sprintf("cannot read the directory %s: %v", dir, err)})
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".pcl" {
			continue
		}
		name := filepath.Join(dir, e.Name())
		text, err := readText(name)
		if err != nil {
			b.problem(Problem{Msg: fmt.Sprintf("cannot read %s: %v", name, err)})
			continue
		}
		b.text(name, text)
	}
}

// A builder turns trees into a Library.
type builder struct {
	lib         *Library
	problems    problemList
	order       map[string][]string                 // by keyword: names in order of first appearance
	candidates  map[string]map[string][]*syntax.Def // by keyword and name: in order of loading
	chosen      map[string]map[string]*syntax.Def   // by keyword and name: what is in force
	seq         map[*syntax.Def]int                 // order of loading
	unnamed     []*syntax.Def                       // tunable_constant and exclude
	lists       map[string]*list
	constraints map[string]*constraint
	metrics     []*metric
	hypotheses  []*Hypothesis
	placed      map[string]*Hypothesis // those in force by name, once they are in order
	patterns    int                    // parts of regular expressions so far
}

func newBuilder() *builder {
	return &builder{
		lib:   &Library{tunables: map[string]float64{}, tunedAt: map[string]syntax.Pos{}, traces: map[string]*Unsupported{}},
		order: map[string][]string{}, candidates: map[string]map[string][]*syntax.Def{}, chosen: map[string]map[string]*syntax.Def{},
		seq: map[*syntax.Def]int{}, lists: map[string]*list{}, constraints: map[string]*constraint{},
	}
}

func (b *builder) problem(p Problem) { b.problems.add(p) }

func (b *builder) text(name, content string) {
	b.lib.sources = append(b.lib.sources, Source{name, content})
	tree, errs := syntax.Parse(name, content)
	for _, e := range errs {
		b.problem(Problem{Pos: e.Pos, Msg: e.Msg})
	}
	for _, d := range tree.Defs {
		b.seq[d] = len(b.seq)
		if d.Name == "" {
			b.unnamed = append(b.unnamed, d)
			continue
		}
		byName := b.candidates[d.Keyword]
		if byName == nil {
			byName = map[string][]*syntax.Def{}
			b.candidates[d.Keyword], b.chosen[d.Keyword] = byName, map[string]*syntax.Def{}
		}
		if byName[d.Name] == nil {
			b.order[d.Keyword] = append(b.order[d.Keyword], d.Name)
		}
		byName[d.Name] = append(byName[d.Name], d)
	}
}

// build checks in the order in which definitions lean on each other.
func (b *builder) build() {
	b.tunables()
	b.resolve("resourceList", b.checkList)
	b.resolve("constraint", b.checkConstraint)
	b.resolve("metric", b.checkMetric)
	b.dropRenamed()
	b.resolve("hierarchy", b.checkHierarchy)
	b.resolve("hypothesis", b.checkHypothesis)
	b.orderHypotheses()
	b.resolve("expect", b.checkExpect)
	b.resolve("trace", b.checkTrace)
	for _, keyword := range []string{"daemon", "process", "visi"} {
		b.resolve(keyword, b.checkRecord)
	}
	b.lib.take(b)
}

// resolve puts the latest sound definition of each name in force.
func (b *builder) resolve(keyword string, check func(*syntax.Def) error) {
	for _, name := range b.order[keyword] {
		defs := b.candidates[keyword][name]
		for i, d := range slices.Backward(defs) {
			err := check(d)
			if err == nil {
				b.chosen[keyword][name] = d
				break
			}
			p := asProblem(d, err)
			if i > 0 {
				p.Msg += "; the earlier definition is tried"
			}
			b.problem(p)
		}
	}
}

func asProblem(d *syntax.Def, err error) Problem {
	var e *syntax.Error
	if !errors.As(err, &e) {
		return Problem{Pos: d.Pos, Msg: err.Error()}
	}
	p := Problem{Pos: e.Pos, Msg: e.Msg}
	if prefix := d.Keyword + " " + d.Name + ": "; d.Name != "" && !hasPrefix(p.Msg, prefix) {
		p.Msg = prefix + p.Msg
	}
	return p
}

func hasPrefix(s, prefix string) bool { return len(s) >= len(prefix) && s[:len(prefix)] == prefix }

// tunables also reads the excludes: neither has names that could be replaced as a whole.
func (b *builder) tunables() {
	for _, d := range b.unnamed {
		if d.Keyword == "exclude" {
			if err := b.checkExclude(d); err != nil {
				b.problem(asProblem(d, err))
			}
			continue
		}
		for _, it := range d.Items {
			b.lib.tunables[it.Values[0].Text] = it.Values[1].Num
			b.lib.tunedAt[it.Values[0].Text] = it.Pos
		}
	}
}

// dropRenamed: of two metrics with one name string the one that was loaded last is in force.
func (b *builder) dropRenamed() {
	last := map[string]*metric{}
	for _, m := range b.metrics {
		if old := last[m.Name]; old == nil || b.seq[old.def] < b.seq[m.def] {
			last[m.Name] = m
		}
	}
	b.metrics = slices.DeleteFunc(b.metrics, func(m *metric) bool { return last[m.Name] != m })
	b.lib.byName = indexMetrics(b.metrics)
}

// metric finds a metric by its name, else by its identifier; valid once all metrics are there.
func (b *builder) metric(name string) *metric { return b.lib.byName[name] }

// indexMetrics is the table of metrics by name and, where no name is in the way, by identifier.
func indexMetrics(ms []*metric) map[string]*metric {
	out := map[string]*metric{}
	for _, m := range ms {
		out[m.ident] = m
	}
	for _, m := range ms {
		out[m.Name] = m
	}
	return out
}

// metricNames are the names of the metrics in order, for a suggestion.
func (b *builder) metricNames() []string {
	var out []string
	if len(b.metrics) > maxNames || b.problems.full() {
		return nil
	}
	for _, m := range b.metrics {
		out = append(out, m.Name)
	}
	return out
}
