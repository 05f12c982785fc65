package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// TestManual runs what the consoles of the tutorial and the reference of PCL show, with the files that it shows, and compares what is printed. "..." in the
// manual stands for any text in a line; a line of it for any lines.
func TestManual(t *testing.T) {
	t.Parallel()
	require.Root(t)
	require.Tool(t, "gcc")
	var text []byte
	for _, name := range []string{"pcl-tutorial.md", "pcl-reference.md"} {
		part, err := os.ReadFile(filepath.Join(testprog.Root(t), "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, part...)
	}
	dir, commands := t.TempDir(), 0
	t.Cleanup(func() { endProgramsOf(t, dir) })
	m := manualShell{t: t, dir: dir, bin: manualCulprit(t)}
	for _, f := range regexp.MustCompile("(?ms)^```([a-z-]+)(?: ([a-z.]+))?\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		if f[2] != "" {
			if err := os.WriteFile(filepath.Join(dir, f[2]), []byte(f[3]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if f[1] == "console" {
			commands += m.console(f[3])
		}
	}
	t.Logf("%d commands", commands)
	if commands < 5 {
		t.Error("the manual shows hardly any commands")
	}
}

// manualCulprit is a directory with this program under the name culprit.
func manualCulprit(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "culprit")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A manualShell runs the commands of a manual in a directory of its own.
type manualShell struct {
	t        *testing.T
	dir, bin string
}

// console runs the commands of a block, each against the lines below it, and returns how many there were.
func (m manualShell) console(block string) (commands int) {
	for _, part := range strings.Split("\n"+block, "\n$ ")[1:] {
		command, want, _ := strings.Cut(part, "\n")
		m.command(command, strings.TrimRight(want, "\n"))
		commands++
	}
	return commands
}

// attempts is how often a command that measures may be tried: on a machine that is busy with other things a thread may not
// stop in time, and culprit then refuses to go on, as it should.
const attempts = 3

func (m manualShell) command(command, want string) {
	m.t.Helper()
	left := 1
	if strings.HasPrefix(command, "culprit run ") {
		left = attempts
	}
	for {
		began := time.Now()
		got, err := m.output(command)
		m.t.Logf("%.1f s: $ %s", time.Since(began).Seconds(), command)
		if shows(want).MatchString(got) {
			return
		}
		left--
		report := m.t.Logf
		if left == 0 {
			report = m.t.Errorf
		}
		report("$ %s (%v)\n%s\nthe manual shows:\n%s", command, err, got, want)
		if left == 0 {
			return
		}
	}
}

// output runs a command and returns all that it prints.
func (m manualShell) output(command string) (string, error) {
	m.t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir, cmd.WaitDelay = m.dir, time.Second
	cmd.Env = append(os.Environ(), beCulprit+"=1", "PATH="+m.bin+":"+os.Getenv("PATH"), "XDG_CONFIG_HOME="+m.dir)
	timer := time.AfterFunc(patienceOfTests, func() { cmd.Process.Kill() })
	out, err := cmd.CombinedOutput()
	if !timer.Stop() {
		m.t.Errorf("$ %s\nit did not end", command)
	}
	endProgramsOf(m.t, m.dir)
	return string(out), err
}

// endProgramsOf kills what was started out of a directory: programs that "culprit run" has started go on when it ends.
func endProgramsOf(t *testing.T, dir string) {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		exe, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(exe, dir+"/") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link))); err == nil {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// shows is what output must match.
func shows(want string) *regexp.Regexp {
	var sb strings.Builder
	sb.WriteString(`\A`)
	for _, line := range strings.Split(want, "\n") {
		switch {
		case line == "...":
			sb.WriteString(`(?:[^\n]*\n)*`)
			continue
		case want == "":
			continue
		}
		for i, part := range strings.Split(line, "...") {
			if i > 0 {
				sb.WriteString(`[^\n]*`)
			}
			sb.WriteString(regexp.QuoteMeta(part))
		}
		sb.WriteString(`\n`)
	}
	sb.WriteString(`\z`)
	return regexp.MustCompile(sb.String())
}
