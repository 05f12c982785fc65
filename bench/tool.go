package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// A tool is culprit as a user runs it, in a directory of its own.
type tool struct{ dir string }

func buildTool() (*tool, error) {
	dir, err := os.MkdirTemp("", "culprit-bench")
	if err != nil {
		return nil, err
	}
	t := &tool{dir}
	if out, err := exec.Command("go", "build", "-o", t.path("culprit"), "./cmd/culprit").CombinedOutput(); err != nil {
		t.remove()
		return nil, fmt.Errorf("building culprit: %w\n%s", err, out)
	}
	return t, nil
}

func (t *tool) remove() { os.RemoveAll(t.dir) }

func (t *tool) path(name string) string { return filepath.Join(t.dir, name) }

// searchBy is a search of a process and its children, for as long as -span, by one of several builds of culprit: "this", or the path of another one. What an
// earlier one has reported is gone.
func (t *tool) searchBy(build string, pid int) *exec.Cmd {
	os.Remove(t.path("report.json"))
	if build == "this" {
		build = t.path("culprit")
	}
	return exec.Command(build, "attach", "--quiet", "--no-tui", "--for", span.String(), "--json", t.path("report.json"), strconv.Itoa(pid))
}

// A report is what of a search's report counts here.
type report struct {
	Targets      []struct{ PID, Threads int }
	RemovedClean bool `json:"removed_clean"`
	Overhead     struct {
		Observed  float64 `json:"observed"`
		DaemonCPU float64 `json:"daemon_cpu"`
		Lost      float64 `json:"lost"`
	}
}

// report reads what the last search has written. It is an error if probes were left behind.
func (t *tool) report() (*report, error) {
	text, err := os.ReadFile(t.path("report.json"))
	if err != nil {
		return nil, err
	}
	var said report
	if err := json.Unmarshal(text, &said); err != nil {
		return nil, err
	}
	if !said.RemovedClean {
		return nil, errors.New("the search has not removed its probes")
	}
	return &said, nil
}
