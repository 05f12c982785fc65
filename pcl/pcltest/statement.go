package pcltest

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"culprit/pcl/syntax"
)

// keywords are the words that a statement may begin with.
var keywords = []string{"test", "needs", "compile", "file", "pcl", "start", "run", "say", "await", "take", "sleep", "measure", "enable",
	"disable", "search", "stop", "expect", "check"}

// statement reads the present line; nil if it is no step, or wrong.
func (p *parser) statement() Step {
	at := At{p.line.words[0].Pos}
	switch word := p.line.words[0].Plain; word {
	case "test":
		p.begin()
		return nil
	case "needs":
		return p.needs(at)
	case "compile":
		return p.compile(at)
	case "file":
		return p.writeFile(at)
	case "pcl":
		return p.pcl(at)
	case "start":
		return p.start(at)
	case "run":
		return Run{at, p.command(1)}
	case "say":
		return p.say(at)
	case "await":
		return p.await(at)
	case "take":
		return p.take(at)
	case "sleep":
		return p.sleep(at)
	case "measure":
		return p.measure(at)
	case "enable":
		return Enable{at, p.onlyPair()}
	case "disable":
		return Disable{at, p.onlyPair()}
	case "search":
		return p.search(at)
	case "stop":
		p.exactly(1)
		return Stop{at}
	case "expect":
		return p.expect(at)
	case "check":
		return p.checkExpr(at)
	default:
		p.fail(at.Pos, "found %s, expected a statement: one of %s%s", shorten(word), list(keywords), syntax.DidYouMean(word, keywords))
	}
	return nil
}

// exactly fails unless the line has n words.
func (p *parser) exactly(n int) {
	if len(p.line.words) > n {
		p.fail(p.line.words[n].Pos, "found %s, expected the end of the line", shorten(p.line.words[n].Plain))
	}
}

// word is word i of the line; what says what is expected there.
func (p *parser) word(i int, what string) Word {
	if i < len(p.line.words) {
		return p.line.words[i]
	}
	p.fail(p.line.at(p.line.end), "found the end of the line, expected %s", what)
	return Word{Pos: p.line.at(p.line.end)}
}

// has reports whether word i is there and is this one.
func (p *parser) has(i int, word string) bool {
	return i < len(p.line.words) && p.line.words[i].Plain == word
}

// name reads an identifier.
func (p *parser) name(i int, what string) string {
	w := p.word(i, what)
	if p.err == nil && (w.Plain == "" || identifier(w.Plain) != w.Plain) {
		p.fail(w.Pos, "found %s, expected %s: letters, digits and _", shorten(w.Plain), what)
	}
	return w.Plain
}

// command reads the words from i on: a program and its arguments.
func (p *parser) command(i int) []Word {
	p.word(i, "a program and its arguments")
	return p.line.words[min(i, len(p.line.words)):]
}

// pattern reads a regular expression.
func (p *parser) pattern(i int) *regexp.Regexp {
	w := p.word(i, "a regular expression")
	re, err := regexp.Compile(w.Plain)
	if err != nil && p.err == nil {
		p.fail(w.Pos, "%v", err)
	}
	return re
}

// maxTime bounds what a test may wait for.
const maxTime = time.Hour

// time reads a length of time.
func (p *parser) time(i int) time.Duration {
	w := p.word(i, "a length of time, such as 500ms or 2s")
	d, err := time.ParseDuration(w.Plain)
	if p.err == nil && (err != nil || d <= 0 || d > maxTime) {
		p.fail(w.Pos, "found %s, expected a length of time, such as 500ms or 2s, of at most %v", shorten(w.Plain), maxTime)
	}
	return d
}

func (p *parser) needs(at At) Step {
	s := Needs{At: at, Name: p.name(1, "the name of a program"), Pattern: p.word(1, "the name of a program")}
	if len(p.line.words) > 2 {
		s.Pattern = p.line.words[2]
	}
	p.exactly(3)
	return s
}

// fileName reads a name without directories.
func (p *parser) fileName(i int, what string) string {
	w := p.word(i, what)
	if p.err == nil && (w.Plain == "" || w.Plain == "." || w.Plain == ".." || strings.ContainsAny(w.Plain, "/\x00")) {
		p.fail(w.Pos, "found %s, expected %s, without a directory", shorten(w.Plain), what)
	}
	return w.Plain
}

func (p *parser) compile(at At) Step {
	s := Compile{At: at, Body: p.useBody()}
	w := p.word(1, "a C or C++ source")
	s.Source = w.Plain
	if s.Body != nil {
		s.Source = p.fileName(1, "the name of a C or C++ source")
	}
	if p.err == nil && !strings.HasSuffix(s.Source, ".c") && !strings.HasSuffix(s.Source, ".cc") {
		p.fail(w.Pos, "found %s, expected a name that ends with .c or .cc", shorten(s.Source))
	}
	s.Flags = p.line.words[min(2, len(p.line.words)):]
	return s
}

func (p *parser) writeFile(at At) Step {
	s := WriteFile{At: at, Name: p.fileName(1, "the name of a file")}
	p.exactly(2)
	b := p.useBody()
	if b == nil {
		p.fail(p.line.at(p.line.end), "the text of the file is missing: indented lines below this one")
		return s
	}
	s.Body = *b
	return s
}

func (p *parser) pcl(at At) Step {
	s := PCL{At: at, Body: p.useBody()}
	switch {
	case p.has(1, "error"):
		s.Error = p.message(2)
	case s.Body == nil:
		s.File = p.word(1, "a file, or indented lines below with PCL").Plain
		p.exactly(2)
	default:
		p.exactly(1)
	}
	if s.Error != "" && s.Body == nil {
		p.fail(p.line.at(p.line.end), "the PCL that must be refused is missing: indented lines below this one")
	}
	return s
}

// message reads what must be part of an error's text, and the end of the line.
func (p *parser) message(i int) string {
	w := p.word(i, "what the message must say")
	p.exactly(i + 1)
	if p.err == nil && w.Plain == "" {
		p.fail(w.Pos, "expected what the message must say")
	}
	return w.Plain
}

func (p *parser) start(at At) Step {
	if p.has(1, "as") {
		return Start{at, p.name(2, "a name for the program"), p.command(3)}
	}
	return Start{At: at, Args: p.command(1)}
}

func (p *parser) say(at At) Step {
	s, i := Say{At: at}, 1
	if p.has(1, "to") {
		s.To, i = p.name(2, "the name of a program"), 3
	}
	s.Text = p.word(i, "what is said")
	return s
}

// awaitTime is how long an await without "within" waits.
const awaitTime = 20 * time.Second

func (p *parser) await(at At) Step {
	s := Await{At: at, Status: -1, Within: awaitTime}
	words := p.line.words
	if n := len(words); n > 3 && words[n-2].Plain == "within" {
		s.Within = p.time(n - 1)
		p.line.words = words[:n-2]
	}
	i := 1
	if !p.kind(1) && (p.has(2, "line") || p.has(2, "end")) {
		s.Who, i = p.name(1, "the name of a program"), 2
	}
	s.Kind = AwaitKind(p.word(i, "what is waited for").Plain)
	p.awaited(&s, i+1)
	return s
}

// awaitKinds are the words for what can be waited for.
var awaitKinds = []string{"line", "end", "file", "socket", "port", "run"}

// kind reports whether word i says what is waited for.
func (p *parser) kind(i int) bool {
	return i < len(p.line.words) && slices.Contains(awaitKinds, p.line.words[i].Plain)
}

// awaited reads what is behind the word that says what is waited for.
func (p *parser) awaited(s *Await, i int) {
	switch s.Kind {
	case AwaitLine:
		s.Line = p.pattern(i)
		p.exactly(i + 1)
	case AwaitEnd:
		if len(p.line.words) > i {
			s.Status = p.status(i)
		}
		p.exactly(i + 1)
	case AwaitFile, AwaitSocket, AwaitPort:
		p.word(i, "its path or number")
		s.Args = p.line.words[min(i, len(p.line.words)):]
		p.exactly(i + 1)
	case AwaitRun:
		s.Args = p.command(i)
	default:
		if p.err == nil {
			w := p.line.words[i-1]
			p.fail(w.Pos, "found %s, expected what is waited for: one of %s%s", shorten(w.Plain), list(awaitKinds), syntax.DidYouMean(w.Plain, awaitKinds))
		}
	}
}

func (p *parser) status(i int) int {
	n, err := strconv.Atoi(p.line.words[i].Plain)
	if err != nil || n < 0 || n > 255 {
		p.fail(p.line.words[i].Pos, "found %s, expected an exit status, 0 to 255", shorten(p.line.words[i].Plain))
	}
	return n
}

func (p *parser) take(at At) Step {
	s := Take{at, p.name(1, "the name of a variable"), nil}
	if p.err == nil {
		s.Regexp = p.pattern(2)
	}
	p.exactly(3)
	return s
}

func (p *parser) sleep(at At) Step {
	s := Sleep{at, p.time(1)}
	p.exactly(2)
	return s
}

func (p *parser) measure(at At) Step {
	s, n := Measure{At: at}, len(p.line.words)
	if n > 1 && p.line.words[n-1].Plain == "children" {
		s.Children = true
		n--
	}
	p.line.words = p.line.words[:min(n, len(p.line.words))]
	p.exactly(2)
	switch {
	case n == 1:
	case p.line.words[1].constant():
		s.Who = p.name(1, "the name of a program, or a variable with its process's number")
	default:
		s.PID = p.line.words[1]
	}
	return s
}

// pair reads METRIC [at FOCUS] from word i on and returns the number of the next word.
func (p *parser) pair(i int) (Pair, int) {
	c := Pair{Metric: p.word(i, "a metric").Plain}
	c.Focus, i = p.at(i + 1)
	return c, i
}

func (p *parser) onlyPair() Pair {
	c, i := p.pair(1)
	p.exactly(i)
	return c
}

func (p *parser) expect(at At) Step {
	if p.has(1, "hypothesis") {
		return p.hypothesis(at)
	}
	s := Expect{At: at}
	var i int
	s.Pair, i = p.pair(1)
	if p.err != nil {
		return s
	}
	if i < len(p.line.words) && isView(p.line.words[i].Plain) {
		s.View = View(p.line.words[i].Plain)
		i++
	}
	if p.has(i, "error") {
		s.Error = p.message(i + 1)
		return s
	}
	end := len(p.line.words)
	if end-2 > i && p.line.words[end-2].Plain == "as" {
		s.As = p.name(end-1, "the name of a variable")
		end -= 2
	}
	s.Relation = p.relation(i, end)
	return s
}

func (p *parser) checkExpr(at At) Step {
	s := Check{At: at}
	i := 1
	for i < len(p.line.words) && !slices.Contains(operators, p.line.words[i].Plain) {
		i++
	}
	s.Expr = p.expression(1, i)
	if p.err == nil {
		s.Text = strings.TrimSpace(p.line.text[p.line.start(1):p.line.start(i)])
		s.Relation = p.relation(i, len(p.line.words))
	}
	return s
}
