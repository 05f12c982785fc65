package daemon

import (
	"fmt"
	"os"
	"strings"
)

// What a file is opened by: probes compare the path with the argument of open, so that what is written to a file that is open for a
// moment only is known to be its own.

// openedAs lists the texts by which the target may open a file: its path, and what that is from the directory where the target is.
func (f *fileTable) openedAs(elems []string) []string {
	if elems[0] != "File" || !strings.HasPrefix(elems[1], "/") || !f.mayRead() {
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
