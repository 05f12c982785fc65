package openfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// What a file is opened by: probes compare the path with the argument of open, so that what is written to a file that is open for a
// moment only is known to be its own.

// fewByPath is how many files are told by their paths: the first ones that somebody asks for. Each makes every open slower, by half a
// microsecond for each of the two texts, and a star may stand for thousands.
const fewByPath = 16

// OpenedAs lists the texts by which the process may open a file at a session time: its path, and what that is from the directory where the
// process is, if that is shorter. The kernel names the directory without links, so that ".." leads from it to the one above.
func (t *Table) OpenedAs(elems []string, at float64) []string {
	t.host.mu.Lock()
	defer t.host.mu.Unlock()
	number := t.numbers[partOf(elems)] &^ kindNumber(elems[0])
	if elems[0] != "File" || number > fewByPath || !strings.HasPrefix(elems[1], "/") || !t.mayRead(at) {
		return nil
	}
	texts := []string{elems[1]}
	if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", t.cfg.PID)); err == nil {
		if rest, err := filepath.Rel(cwd, elems[1]); err == nil && len(rest) < len(elems[1]) {
			texts = append(texts, rest)
		}
	}
	return texts
}

// mayRead tells whether probes may read what pointers lead to; what was found is believed for a second.
func (t *Table) mayRead(at float64) bool {
	if t.askedAt == 0 || at-t.askedAt > 1 {
		t.askedAt, t.reads = at, t.cfg.MayRead()
	}
	return t.reads
}
