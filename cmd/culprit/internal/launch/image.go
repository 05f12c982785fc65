package launch

import (
	"debug/elf"
	"fmt"
	"os"
	"strings"
	"time"

	"culprit/internal/safeelf"
)

// imageWait bounds how long the start of a program may take before attach is tried anyway.
const imageWait = 500 * time.Millisecond

// AwaitImage waits until the program's own image is there: exec is done when the program is started, but the loader of a
// dynamic program still has to map the libraries, which attach wants to see. It is done when libc is mapped and nothing
// changes. Therefore programs are not started stopped: what stands at its first instruction has no libraries yet.
func (p *Program) AwaitImage() {
	if !isDynamic(p.path) {
		return
	}
	before := ""
	for deadline := time.Now().Add(imageWait); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.PID))
		maps := string(b)
		if err != nil || maps == before && (strings.Contains(maps, "/libc.") || strings.Contains(maps, "/ld-musl")) {
			return
		}
		before = maps
	}
}

func isDynamic(path string) bool {
	f, file, err := safeelf.Open(path)
	if err != nil {
		return true // a script: its interpreter is dynamic in all likelihood
	}
	defer file.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return true
		}
	}
	return false
}
