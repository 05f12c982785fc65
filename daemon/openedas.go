package daemon

import (
	"fmt"
	"os"
	"strings"

	"culprit/grid"
)

// What a file is opened by: probes compare the path with the argument of open, so that what is written to a file that is open for a
// moment only is known to be its own.

// fewByPath is how many files are told by their paths: the first ones that somebody asks for. Each makes every open slower, by half a
// microsecond for each of the two texts, and a star may stand for thousands.
const fewByPath = 16

// openedAs lists the texts by which the target may open a file: its path, and what that is from the directory where the target is.
func (f *fileTable) openedAs(elems []string) []string {
	number := f.numbers[grid.IO.String()+"/"+strings.Join(elems, "/")] &^ kindNumber(elems[0])
	if elems[0] != "File" || number > fewByPath || !strings.HasPrefix(elems[1], "/") || !f.mayRead() {
		return nil
	}
	texts := []string{elems[1]}
	if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", f.t.proc.PID())); err == nil {
		if rest, below := strings.CutPrefix(elems[1], strings.TrimSuffix(cwd, "/")+"/"); below {
			texts = append(texts, rest)
		}
	}
	return texts
}

// mayRead tells whether probes may read what pointers lead to; what was found is believed for a second.
func (f *fileTable) mayRead() bool {
	if now := f.t.d.Now(); f.askedAt == 0 || now-f.askedAt > 1 {
		f.askedAt, f.reads = now, f.t.mayAsk(readingMemory) == nil
	}
	return f.reads
}
