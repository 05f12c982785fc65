package harm

import (
	"bytes"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"culprit/internal/testprog"
)

// What a hostile file may cost culprit.
const (
	mostMemory = 2 << 30
	mostTime   = 30 * time.Second
)

// cost lets culprit attach to a program whose file is hostile, for a second.
func (r *round) cost(bin string) (harm string) {
	p := r.target(bin)
	fmt.Fprintln(p.Stdin, "go")
	if !r.control() {
		res := r.attach(p, time.Second)
		switch {
		case res.rss > mostMemory:
			harm = fmt.Sprintf("culprit took %d MB of memory and %.0f s", res.rss>>20, res.took.Seconds())
		case res.took > mostTime:
			harm = fmt.Sprintf("culprit took %.0f s", res.took.Seconds())
		case !searched(res.status):
			harm = fmt.Sprintf("culprit ended with status %d: %s", res.status, firstLine(res.err))
		case left(p.PID) > 0:
			harm = "something is left in the target"
		}
		if left(p.PID) > 0 {
			r.run("restore", fmt.Sprint(p.PID))
		}
	}
	if h := r.harmTo(p, ""); h != "" {
		return h
	}
	return harm
}

func firstLine(s string) string {
	line, _, _ := bytes.Cut([]byte(s), []byte{'\n'})
	return string(line)
}

// plain is an ordinary program.
func (r *round) plain() string { return testprog.Build(r.T, testprog.Target(r.T, "cpu.c")) }

// bomb is a program of 16 MB whose sections of debug information are compressed and claim gigabytes together.
func (r *round) bomb() string {
	data := testprog.Inflating(r.T, 384<<20)
	data = append(data, make([]byte, 16<<20-len(data))...)
	sections := []testprog.Section{{Name: ".debug_info", Flags: testprog.Compressed, Data: data}}
	for _, name := range []string{".debug_abbrev", ".debug_line", ".debug_str", ".debug_line_str", ".debug_ranges", ".debug_addr", ".debug_str_offsets", ".debug_rnglists", ".debug_frame"} {
		sections = append(sections, testprog.Section{Name: name, Flags: testprog.Compressed, Same: ".debug_info"})
	}
	return testprog.WithSections(r.T, r.plain(), sections)
}

// elfBomb: the memory of a machine for a file of 16 MB.
func elfBomb(r *round) string { return r.cost(r.bomb()) }

// elfBombInterrupt: somebody wants to stop that.
func elfBombInterrupt(r *round) (harm string) {
	p := r.target(r.bomb())
	if !r.control() {
		cmd := exec.Command(r.culprit, "attach", fmt.Sprint(p.PID), "--no-tui", "--for", "60s")
		if err := cmd.Start(); err != nil {
			r.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
		_ = cmd.Process.Signal(syscall.SIGINT)
		if !ended(cmd, 5*time.Second) {
			harm = "culprit does not end within 5 s of SIGINT"
			_ = cmd.Process.Kill()
		}
	}
	if h := r.harmTo(p, ""); h != "" {
		return h
	}
	return harm
}

// hostile: tables of symbols or of DWARF that claim more than they hold.
func hostile(what string) func(r *round) string {
	return func(r *round) string {
		return r.cost(testprog.WithSections(r.T, r.plain(), testprog.Hostile()[what]))
	}
}

// sparseSymbols: a table of symbols that is as large as a disk, and takes no room on one.
func sparseSymbols(r *round) string {
	return r.cost(testprog.WithSections(r.T, r.plain(), []testprog.Section{{Name: ".symtab", Type: testprog.SymTab, Link: ".strtab", Hole: 3 << 30}}))
}
