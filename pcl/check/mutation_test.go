package check_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"culprit/pcl"
	"culprit/pcl/check"
	"culprit/pcl/internal/cases"
	"culprit/pcl/syntax"
	"culprit/pcl/types"
)

// pclToken takes a text apart: strings, words, numbers, signs, and what stands between them.
var pclToken = regexp.MustCompile(`//[^\n]*|"[^"\n]*"|\$?[A-Za-z_]\w*|\d+(?:\.\d+)?|\(\*|\*\)|->|\+\+|[-+=!<>]=|&&|\|\||\s+|.`)

// tokensOf are the tokens of a text with blanks and comments, and the places of the others among them.
func tokensOf(text string) (all []string, real []int) {
	all = pclToken.FindAllString(text, -1)
	for i, s := range all {
		if strings.TrimSpace(s) != "" && !strings.HasPrefix(s, "//") {
			real = append(real, i)
		}
	}
	return all, real
}

var isWord = regexp.MustCompile(`^\$?[A-Za-z_]\w*$`)

// otherTypes are words that mean something of the same sort.
var otherTypes = [][]string{
	{"counter", "wallTimer", "processTimer", "kernel", "void", "histogram"}, {"entry", "return", "calls", "name", "funcs"}, {"append", "prepend"},
	{"preInsn", "postInsn"}, {"EventCounter", "SampledFunction"}, {"normalized", "unnormalized", "sampled"}, {"sum", "min", "max", "avg"},
	{"metric", "constraint", "hypothesis", "expect", "hierarchy", "resourceList"}, {"startWallTimer", "stopWallTimer", "startProcessTimer", "stopProcessTimer"},
	{"$procedures", "$modules", "$start", "$exit", "$machine"}, {"$arg", "$return", "$callee", "$constraint"}, {"procedure", "module", "string", "int", "float"},
	{"Code", "SyncObject", "IO", "Process"}, {"<", ">", "<=", "==", "+"}, {"=", "+=", "-="},
}

// mutate changes one thing in a text and says what.
func mutate(rng *rand.Rand, text string) (changed, what string) {
	all, real := tokensOf(text)
	i := real[rng.IntN(len(real))]
	old := all[i]
	switch rng.IntN(6) {
	case 0:
		all[i], what = " ", "drop "+old
	case 1:
		all[i], what = old+" "+old, "duplicate "+old
	case 2:
		k := slices.Index(real, i)
		j := real[(k+1)%len(real)]
		what = "swap " + old + " and " + all[j]
		all[i], all[j] = " "+all[j]+" ", " "+old+" "
	case 3:
		for !isWord.MatchString(all[i]) {
			i = real[rng.IntN(len(real))]
		}
		old = all[i]
		all[i] = misspelt(rng, old)
		what = "misspell " + old + " as " + all[i]
	case 4:
		i, all[i] = anotherType(rng, all, real)
		what = "another type: " + all[i]
	default:
		for !isWord.MatchString(all[i]) {
			i = real[rng.IntN(len(real))]
		}
		old = all[i]
		all[i] = anotherCase(old)
		what = "another case: " + all[i]
	}
	return strings.Join(all, ""), what
}

func misspelt(rng *rand.Rand, s string) string {
	at := 1 + rng.IntN(len(s))
	switch rng.IntN(3) {
	case 0:
		return s[:at] + "x" + s[at:]
	case 1:
		return s[:at-1] + "q" + s[at:]
	}
	if at < len(s) {
		return s[:at-1] + s[at:at+1] + s[at-1:at] + s[at+1:]
	}
	return s + "s"
}

func anotherType(rng *rand.Rand, all []string, real []int) (int, string) {
	for range 1000 {
		i := real[rng.IntN(len(real))]
		for _, set := range otherTypes {
			if k := slices.Index(set, all[i]); k >= 0 {
				return i, set[(k+1+rng.IntN(len(set)-1))%len(set)]
			}
		}
	}
	return real[0], all[real[0]] // it has no such word: nothing is changed
}

func anotherCase(s string) string {
	if upper := strings.ToUpper(s); upper != s {
		return upper
	}
	return strings.ToLower(s)
}

// TestMutations: of 1,000 texts of the manual in which one thing was changed, each is answered with line, column, what was found and
// what would work, or it is a program in which every word means something.
func TestMutations(t *testing.T) {
	_, fences := cases.Manual(t)
	var texts, above []string
	before := map[string][]string{}
	for _, f := range fences {
		if f.Lang == "pcl" {
			before[f.Text] = slices.Clone(above)
			texts, above = append(texts, f.Text), append(above, f.Text)
		}
	}
	const all = 1000
	rng := rand.New(rand.NewPCG(7, 1))
	refused, warned := 0, 0
	for range all {
		text := texts[rng.IntN(len(texts))]
		changed, what := mutate(rng, text)
		if changed == text {
			continue
		}
		opts := check.Options{Texts: append(slices.Clone(before[text]), changed), NoDefault: aloneIsSound(t, before[text], text)}
		lib, problems, err := check.Load(opts)
		if err != nil {
			t.Fatal(err)
		}
		own := fmt.Sprintf("-e[%d]", len(opts.Texts))
		if len(problems) > 0 {
			refused++
			for _, p := range problems {
				if p.Pos.Line > 0 {
					cases.Complete(t, what, p)
				} else {
					t.Errorf("%s: no place: %v", what, p)
				}
			}
			continue
		}
		if said := cases.WarningsOf(lib, own); len(said) > 0 {
			warned++
			continue
		}
		for _, w := range meaningless(lib, opts.Texts) {
			t.Errorf("%s: no errors, but %q means nothing in\n%s", what, w, changed)
		}
	}
	t.Logf("of %d mutations %d are refused, %d are warned of, %d are programs", all, refused, warned, all-refused-warned)
	if refused < all/2 {
		t.Error("too few mutations are refused")
	}
}

var sound = map[string]bool{}

// aloneIsSound reports whether a text of the manual needs no default library: loading it takes long.
func aloneIsSound(t *testing.T, before []string, text string) bool {
	t.Helper()
	is, known := sound[text]
	if !known {
		_, problems, err := check.Load(check.Options{Texts: append(slices.Clone(before), text), NoDefault: true})
		is = err == nil && len(problems) == 0
		sound[text] = is
	}
	return is
}

// meaningless are the words of the last text that are no words of the language, name nothing that some text defines, and do not stand
// where any word may stand: as a unit, or where the target is asked for a function or for an argument.
func meaningless(lib *pcl.Library, texts []string) (out []string) {
	known := knownWords(lib)
	for _, text := range texts {
		for w := range definedWords(text) {
			known[w] = true
		}
	}
	all, real := tokensOf(texts[len(texts)-1])
	at := func(k int) string {
		if k < 0 || k >= len(real) {
			return ""
		}
		return all[real[k]]
	}
	for k := range real {
		w := at(k)
		switch {
		case !isWord.MatchString(w) || known[w]:
		case at(k-1) == "units", at(k+1) == "(", at(k-1) == "." || at(k-1) == "->":
		case strings.EqualFold(w, "true"), strings.EqualFold(w, "false"):
		default:
			out = append(out, w)
		}
	}
	return out
}

// knownWords are those of the language and of the library.
func knownWords(lib *pcl.Library) map[string]bool {
	known := map[string]bool{}
	add := func(words ...string) {
		for _, w := range words {
			known[w] = true
		}
	}
	add(syntax.Keywords...)
	add(syntax.Kinds...)
	for _, keyword := range syntax.Keywords {
		add(syntax.ItemNames(keyword)...)
	}
	add(slices.Collect(maps.Keys(types.Timers))...)
	add(slices.Collect(maps.Keys(check.Environment))...)
	add(slices.Collect(maps.Keys(types.ListTypes))...)
	for _, f := range check.Fields {
		add(slices.Collect(maps.Keys(f))...)
	}
	for _, l := range check.Levels(lib) {
		add(l...)
	}
	for _, h := range check.Hierarchies() {
		add(h.String())
	}
	add(lib.Tunables()...)
	add(lib.Defined()...)
	add(check.Flavors...)
	add(strings.Fields(`$function $line is replace default key by foreach in if append prepend preInsn postInsn constrained glob regex noCase not at why where whyAndWhere
		normalized unnormalized sampled sum min max avg EventCounter SampledFunction excluded counted normal developer top`)...)
	add(check.ViewWords()...)
	for _, h := range lib.Hypotheses() {
		add(h.Name)
	}
	for _, m := range lib.Metrics() {
		add(lib.Definition(m.Name).Ident, m.Name)
	}
	for _, d := range lib.Trees() {
		if d.Keyword == "constraint" {
			add(d.Name)
		}
	}
	for _, l := range lib.Lists() {
		add(l.Name)
	}
	return known
}

// definedWords are the names that a text gives: of definitions, counters, constraints and loop variables.
func definedWords(text string) map[string]bool {
	out := map[string]bool{}
	var walk func(d *syntax.Def)
	tree, _ := syntax.Parse("", text)
	walk = func(d *syntax.Def) {
		out[d.Name] = true
		bodies := []*syntax.Base{d.Base}
		for _, e := range d.Path {
			out[e] = true
		}
		for _, it := range d.Items {
			if it.Key == "counter" {
				out[it.Values[0].Text] = true
			}
			if it.Def != nil {
				walk(it.Def)
			}
			bodies = append(bodies, it.Base)
		}
		for _, b := range bodies {
			if b != nil {
				check.AnyStmt(b.Body, func(s *syntax.Stmt) bool { out[s.Var] = true; return false })
			}
		}
	}
	for _, d := range tree.Defs {
		walk(d)
	}
	return out
}
