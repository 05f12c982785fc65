package testrun

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Bounds on what is kept of the output of a test's programs; what is beyond them is read and dropped.
const (
	maxLine   = 16 << 10
	maxOutput = 16 << 20
	maxCounts = 10_000
)

// An output keeps the lines that the programs of a test print, in the order in which they come. Any goroutine may use it.
type output struct {
	mu     sync.Mutex
	lines  []printed
	size   int
	counts map[string]float64
	news   chan struct{} // closed and replaced at every line; nil before the first one that waits
}

// printed is one line.
type printed struct {
	by   any // the program
	text string
}

// add keeps a line, and the number in it if it is "COUNT name number".
func (o *output) add(by any, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.size += len(text) + 1; o.size <= maxOutput {
		o.lines = append(o.lines, printed{by, text})
	}
	if f := strings.Fields(text); len(f) == 3 && f[0] == "COUNT" {
		o.learn(f[1], f[2])
	}
	o.wake()
}

func (o *output) learn(name, text string) {
	if o.counts == nil {
		o.counts = map[string]float64{}
	}
	if v, err := parseNumber(text); err == nil && len(o.counts) < maxCounts {
		o.counts[name] = v
	}
}

func (o *output) wake() {
	if o.news != nil {
		close(o.news)
		o.news = nil
	}
}

// next is closed when there is another line.
func (o *output) next() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.news == nil {
		o.news = make(chan struct{})
	}
	return o.news
}

// find looks for a line of a program from line number from on; after is the number of the line behind it.
func (o *output) find(by any, re *regexp.Regexp, from int) (after int, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := from; i < len(o.lines); i++ {
		if o.lines[i].by == by && re.MatchString(o.lines[i].text) {
			return i + 1, true
		}
	}
	return from, false
}

// last finds the last line, of whichever program, that matches, and returns its first group or the whole match.
func (o *output) last(re *regexp.Regexp) (string, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range slices.Backward(o.lines) {
		if m := re.FindStringSubmatch(l.text); m != nil {
			return m[min(1, len(m)-1)], true
		}
	}
	return "", false
}

// count is the number of the last line "COUNT name number".
func (o *output) count(name string) (float64, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	v, ok := o.counts[name]
	return v, ok
}

// counted lists the names of all such lines.
func (o *output) counted() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.counts) == 0 {
		return "none"
	}
	names := slices.Sorted(maps.Keys(o.counts))
	return strings.Join(names[:min(len(names), 50)], ", ")
}

// tail is the last lines of a program.
func (o *output) tail(by any, n int) (lines []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range slices.Backward(o.lines) {
		if len(lines) < n && l.by == by {
			lines = append(lines, l.text)
		}
	}
	slices.Reverse(lines)
	return lines
}

// read gives each line of in to add, until in ends.
func read(in io.Reader, add func(string)) {
	r := bufio.NewReaderSize(in, maxLine)
	for {
		text, err := r.ReadSlice('\n')
		if len(text) > 0 {
			add(strings.TrimRight(string(text), "\r\n"))
		}
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
	}
}

// story prints the last lines of each program, for who reads why a test failed.
func (r *run) story() {
	for _, p := range r.programs {
		r.printf("      %s%s", p.name, p.ended())
		for _, l := range r.out.tail(p, 10) {
			r.printf("      | %s", l)
		}
	}
}

// printer keeps lines of a program, and shows them if that is wanted.
func (r *run) printer(by any, name string) func(string) {
	return func(text string) {
		r.out.add(by, text)
		if r.opts.Verbose && !strings.HasPrefix(text, "BEAT ") {
			r.printf("      | %s", fmt.Sprintf("%s: %s", name, text))
		}
	}
}
