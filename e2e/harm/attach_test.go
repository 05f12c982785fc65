package harm

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"culprit/internal/testprog"
)

// longPause is what a target notices: programs that wait for answers of others give up after half a second.
const longPause = 490 * time.Millisecond

// attachTo gives a scenario in which a program is searched for a while as culprit does it by itself.
func attachTo(source string, flags []string, args ...string) func(*round) string {
	return watching(3*time.Second, "", source, flags, args...)
}

// watching is attachTo for another span, in which something is measured beside the search.
func watching(span time.Duration, watch, source string, flags []string, args ...string) func(*round) string {
	return func(r *round) string {
		p := r.target(r.build(source, flags...), args...)
		fmt.Fprintln(p.Stdin, "go")
		if r.control() {
			time.Sleep(time.Second)
			return r.harmTo(p, "")
		}
		var more []string
		if watch != "" {
			more = []string{"--watch", watch}
		}
		return r.harmOfAttach(p, span, more...)
	}
}

// keyless: a thread gives up its thread pointer while probes are in, and nothing stops the program until it comes to one of them.
func keyless(r *round) string {
	p := r.target(r.build("fsbase.c", "-fno-stack-protector"))
	if r.control() {
		time.Sleep(2 * time.Second)
		return r.harmTo(p, "")
	}
	return r.harmOfAttach(p, 8*time.Second, "--no-search", "--watch", "procedure_calls@/Code/fsbase.c/*")
}

// harmOfAttach attaches to a target and says what is wrong then: it stood still for too long, something stays in it that restore does not
// remove, or it ends otherwise than it should.
func (r *round) harmOfAttach(p *testprog.Prog, span time.Duration, args ...string) string {
	r.Helper()
	report := filepath.Join(r.TempDir(), "report")
	said := r.attach(p, span, append([]string{"--json", report}, args...)...)
	r.Logf("status %d, %s", said.status, strings.TrimSpace(said.err))
	stays := ""
	if p.Alive() && left(p.PID) > 0 {
		again := r.run("restore", fmt.Sprint(p.PID))
		if n := left(p.PID); n > 0 && p.Alive() {
			stays = fmt.Sprintf("%d mappings stay: %s", n, strings.TrimSpace(again.err))
		}
	}
	if harm := r.harmTo(p, ""); harm != "" {
		return harm
	}
	if stays != "" {
		return stays
	}
	if longest := longestPause(report, said); longest >= longPause {
		return fmt.Sprintf("the target stood still for %v", longest)
	}
	return ""
}

// longestPause reads from the report for how long the target stood still at a time; from what was said, where there is no report.
func longestPause(path string, said result) time.Duration {
	var report struct {
		Overhead struct {
			Pauses struct {
				MaxUS int64 `json:"max_us"`
			} `json:"pauses"`
		} `json:"overhead"`
	}
	if text, err := os.ReadFile(path); err == nil && json.Unmarshal(text, &report) == nil {
		return time.Duration(report.Overhead.Pauses.MaxUS) * time.Microsecond
	}
	if _, rest, ok := strings.Cut(said.err, "did not stop within "); ok {
		word, _, _ := strings.Cut(rest, ";")
		d, _ := time.ParseDuration(word)
		return d
	}
	return 0
}
