package harm

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"culprit/internal/testprog"
)

// busy starts a target with threads and locks, in which a search patches hundreds of places within a second.
func (r *round) busy() *testprog.Prog {
	r.Helper()
	p := r.target(r.share(testprog.Build(r.T, testprog.Target(r.T, "mutex.c"))))
	fmt.Fprintln(p.Stdin, "go")
	return p
}

// patched starts culprit and waits until its probes are in the target. It is told what to do with the command before it starts.
func (r *round) patched(p *testprog.Prog, prepare func(*exec.Cmd)) *exec.Cmd {
	r.Helper()
	cmd := exec.Command(r.culprit, "attach", fmt.Sprint(p.PID), "--no-tui", "--for", "60s")
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+r.TempDir(), "XDG_CACHE_HOME="+r.TempDir())
	if prepare != nil {
		prepare(cmd)
	}
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = cmd.Process.Kill() })
	for range 200 {
		if left(p.PID) > 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	time.Sleep(1500 * time.Millisecond) // it is searching
	if left(p.PID) == 0 {
		r.Fatal("nothing was put into the target")
	}
	return cmd
}

// ended waits for a command; false if it does not end.
func ended(cmd *exec.Cmd, within time.Duration) bool {
	over := make(chan struct{})
	go func() { _ = cmd.Wait(); close(over) }()
	select {
	case <-over:
		return true
	case <-time.After(within):
		return false
	}
}

// remains says what is left of culprit in a target, and takes it out, so that the target can end.
func (r *round) remains(p *testprog.Prog) string {
	r.Helper()
	n := left(p.PID)
	v := r.run("detach", "--verify", fmt.Sprint(p.PID))
	switch {
	case n > 0:
		return fmt.Sprintf("%d mappings are left", n)
	case v.status != 0:
		return "detach --verify: " + v.out + v.err
	}
	return ""
}

// signalled sends signals to a culprit whose probes are in.
func (r *round) signalled(sigs ...syscall.Signal) (harm string) {
	p := r.busy()
	if r.control() {
		return r.harmTo(p, "")
	}
	cmd := r.patched(p, nil)
	for _, s := range sigs {
		_ = cmd.Process.Signal(s)
		time.Sleep(time.Millisecond)
	}
	if !ended(cmd, 15*time.Second) {
		return "culprit does not end"
	}
	harm = r.remains(p)
	if h := r.harmTo(p, ""); h != "" {
		return h
	}
	return harm
}

// quit: somebody presses Ctrl-\ on the terminal.
func quit(r *round) string { return r.signalled(syscall.SIGQUIT) }

// twoSignals: systemd ends a service with SendSIGHUP=yes.
func twoSignals(r *round) string { return r.signalled(syscall.SIGTERM, syscall.SIGHUP) }

// fewDescriptors: culprit may open few files, as many as let it come some way.
func fewDescriptors(r *round) (harm string) {
	p := r.busy()
	if r.control() {
		return r.harmTo(p, "")
	}
	for _, n := range []int{16, 20, 28, 40, 64} {
		cmd := exec.Command("sh", "-c", fmt.Sprintf("ulimit -n %d; exec %q attach %d --no-tui --for 1s", n, r.culprit, p.PID))
		var text bytes.Buffer
		cmd.Stderr = &text
		if err := cmd.Start(); err != nil {
			r.Fatal(err)
		}
		if !ended(cmd, 30*time.Second) {
			return fmt.Sprintf("with %d descriptors culprit does not end", n)
		}
		if h := r.remains(p); h != "" && harm == "" {
			harm = fmt.Sprintf("with %d descriptors %s: %s", n, h, lastLine(text.String()))
		}
	}
	if h := r.harmTo(p, ""); h != "" {
		return h
	}
	return harm
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// killedDoctor: the doctor promises what attach refuses, after a culprit was killed.
func killedDoctor(r *round) (harm string) {
	p := r.busy()
	if r.control() {
		return r.harmTo(p, "")
	}
	cmd := r.patched(p, nil)
	_ = cmd.Process.Kill()
	ended(cmd, 10*time.Second)
	if d := r.run("doctor", fmt.Sprint(p.PID)); d.status == 0 || strings.Contains(d.out, "attach would work") {
		if a := r.attach(p, time.Second); !searched(a.status) {
			harm = "doctor says that attach would work; attach says: " + lastLine(a.err)
		}
	} else if want := fmt.Sprintf("culprit restore %d", p.PID); !strings.Contains(d.out, want) {
		harm = "doctor does not say what to do: " + d.out
	}
	if res := r.run("restore", fmt.Sprint(p.PID)); res.status != 0 {
		return "restore: " + res.err
	}
	if d := r.run("doctor", fmt.Sprint(p.PID)); d.status != 0 && harm == "" {
		harm = "after restore the doctor says: " + d.out
	}
	if h := r.harmTo(p, ""); h != "" {
		return h
	}
	return harm
}

// fifoWithoutReader: the report is to go into a pipe that nobody opens.
func fifoWithoutReader(r *round) (harm string) {
	p := r.busy()
	if r.control() {
		return r.harmTo(p, "")
	}
	fifo := filepath.Join(r.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		r.Fatal(err)
	}
	cmd := exec.Command(r.culprit, "attach", fmt.Sprint(p.PID), "--no-tui", "--for", "1s", "--json", fifo)
	var text bytes.Buffer
	cmd.Stderr = &text
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = cmd.Process.Kill() })
	switch {
	case !ended(cmd, 20*time.Second):
		harm = "culprit does not end"
	case !strings.Contains(text.String(), "nobody has opened"):
		harm = "nothing is said: " + text.String()
	}
	if h := r.harmTo(p, ""); h != "" {
		return h
	}
	return harm
}

// fullPipe: nobody reads what culprit says.
func fullPipe(r *round) (harm string) {
	p := r.busy()
	if r.control() {
		return r.harmTo(p, "")
	}
	rd, wr, err := os.Pipe()
	if err != nil {
		r.Fatal(err)
	}
	defer rd.Close()
	fill(r, wr)
	cmd := r.patched(p, func(c *exec.Cmd) { c.Stderr = wr })
	wr.Close()
	_ = cmd.Process.Signal(syscall.SIGINT)
	if !ended(cmd, 15*time.Second) {
		harm = "culprit does not end"
		_ = cmd.Process.Kill()
		time.Sleep(100 * time.Millisecond)
	}
	if h := r.remains(p); h != "" {
		harm += ", " + h
	}
	if h := r.harmTo(p, ""); h != "" {
		return h
	}
	return harm
}

// fill writes to a pipe until nothing more goes in.
func fill(r *round, wr *os.File) {
	fd := int(wr.Fd())
	if err := unix.SetNonblock(fd, true); err != nil {
		r.Fatal(err)
	}
	for _, size := range []int{4096, 1} {
		for {
			if _, err := unix.Write(fd, make([]byte, size)); errors.Is(err, unix.EAGAIN) {
				break
			} else if err != nil {
				r.Fatal(err)
			}
		}
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		r.Fatal(err)
	}
}
