package attack

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// TestAttack runs the rounds, several at the same time.
func TestAttack(t *testing.T) {
	require.Root(t)
	if len(places) == 0 {
		t.Fatal("culprit does not list its fault points")
	}
	t.Logf("-seed %d", *seedFlag)
	attacker := mustRead(t, testprog.Build(t, "testdata/odd/attacker.c"))
	victim := testprog.Build(t, "testdata/odd/victim.c")
	rounds, began := *roundsFlag, time.Now()
	if *longFlag {
		rounds = max(rounds, 10_000)
	}
	ctx, over := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM) // no more rounds then, but the report
	defer over()
	var next, done atomic.Int64
	var all sync.Mutex
	var harms []harm
	t.Run("workers", func(t *testing.T) {
		var group sync.WaitGroup
		var workers []*worker
		for i := range *workersFlag { // all before the first begins: a program that is being written cannot be started
			workers = append(workers, newWorker(t, i, victim))
		}
		for _, w := range workers {
			group.Go(func() {
				for n := int(next.Add(1)) - 1; n < rounds && ctx.Err() == nil; n = int(next.Add(1)) - 1 {
					w.harms = nil
					w.round(attacker, n)
					done.Add(1)
					all.Lock()
					for _, h := range w.harms {
						fmt.Printf("attack: %s: %.300s\n", h.kind, h.text)
					}
					harms = append(harms, w.harms...)
					if n%500 == 499 {
						fmt.Printf("attack: %d rounds, %d of them did harm, %v\n", n+1, len(harms), time.Since(began).Round(time.Second))
					}
					all.Unlock()
				}
			})
		}
		group.Wait()
	})
	report(t, harms, int(done.Load()), time.Since(began))
}

// report says how many rounds did harm of each kind, and gives the first few of each.
func report(t *testing.T, harms []harm, rounds int, took time.Duration) {
	const shown = 5
	count := map[string]int{}
	for _, h := range harms {
		if count[h.kind]++; count[h.kind] <= shown {
			t.Errorf("%s: %s", h.kind, h.text)
		}
	}
	var kinds []string
	for kind, n := range count {
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, n))
	}
	slices.Sort(kinds)
	t.Logf("%d rounds in %v; harm: %s", rounds, took.Round(time.Second), strings.Join(kinds, ", "))
}

// round is one attack.
func (w *worker) round(attacker []byte, n int) {
	if *onlyFlag >= 0 {
		n = *onlyFlag
	}
	w.now = drawRound(*seedFlag, n)
	if !regexp.MustCompile(*matchFlag).MatchString(w.now.String()) {
		return
	}
	dir := w.arm(attacker)
	defer os.RemoveAll(dir)
	began := time.Now()
	w.do(dir)
	w.endMaster()
	w.endAttackers()
	w.judge()
	if testing.Verbose() {
		w.t.Logf("%v, %v", w.now, time.Since(began).Round(time.Millisecond))
	}
}

// arm makes the directory that the attacker works in.
func (w *worker) arm(attacker []byte) (dir string) {
	dir, err := os.MkdirTemp(filepath.Dir(w.culprit), "attacker")
	w.must(err)
	program := mutate(w.t, w.now.rng, attacker, w.now.program)
	spare := mutate(w.t, w.now.rng, attacker, []string{"", "flipped", "headers", "cut"}[w.now.rng.IntN(4)])
	w.must(os.WriteFile(filepath.Join(dir, "prog"), program, 0o755), os.WriteFile(filepath.Join(dir, "spare"), spare, 0o755))
	if w.now.library != "" {
		w.must(os.WriteFile(filepath.Join(dir, "lib.so"), mutate(w.t, w.now.rng, attacker, w.now.library), 0o755))
	}
	for _, name := range []string{"", "prog", "spare", "lib.so"} {
		if err := os.Chown(filepath.Join(dir, name), w.uid, w.uid); err != nil && !os.IsNotExist(err) {
			w.t.Fatal(err)
		}
	}
	return dir
}

func (w *worker) attackerCommand(dir string) []string {
	victim := w.victims[w.now.rng.IntN(len(w.victims))].PID
	return []string{filepath.Join(dir, "prog"), fmt.Sprint(w.now.rng.Uint64() >> 2), dir, w.files, fmt.Sprint(victim), startTime(victim), fmt.Sprint(w.uid),
		strings.Join(w.now.kinds, ",")}
}

// startTime is field 22 of /proc/PID/stat, with which a head names a process.
func startTime(pid int) string {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // it lives
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return fields[19]
}

// do lets the attacker go and root do its part.
func (w *worker) do(dir string) {
	args := w.attackerCommand(dir)
	span := fmt.Sprint(w.now.span)
	if w.now.command == "run" {
		w.root(w.now.fault, append([]string{"run", "--no-tui", "--quiet", "--for", span, "--"}, args...)...).end()
		return
	}
	pid := w.startAttacker(args)
	if pid == 0 {
		return
	}
	attach := func(span string, more ...string) *command {
		return w.root(w.now.fault, append([]string{"attach", pid.String(), "--no-tui", "--for", span}, more...)...)
	}
	many := []string{"--watch", "procedure_calls@/Code/*", "--watch", "exec_time_inclusive@/Code/*"}
	switch w.now.command {
	case "attach":
		attach(span, []string{"--children=true", "--children=false"}[w.now.rng.IntN(2)]).end()
	case "watch":
		attach(span, many...).end()
	case "sample":
		attach(span, "--backend", "sample").end()
	case "assert":
		w.root(w.now.fault, "assert", pid.String(), "--for", span, "-e", "expect busy { cpu < 100; }").end()
	case "detach":
		w.root(w.now.fault, "detach", "--verify", pid.String()).end()
	case "restore", "doctor":
		w.root(w.now.fault, w.now.command, pid.String()).end()
	case "killed":
		c := attach("20s", many...)
		w.pause(c)
		c.kill()
		c.end()
		w.root("", "restore", pid.String()).end()
	case "attach and detach":
		c := attach("20s")
		w.pause(c)
		w.root("", "detach", "--verify", pid.String()).end()
		w.pause(c)
		c.interrupt() // one that only looked is not found by detach
		c.end()
	}
}

// pause lets a command work for a moment.
func (w *worker) pause(c *command) {
	select {
	case <-c.done:
	case <-time.After(w.now.span * 2):
	}
}

// A pidText is a process as an argument.
type pidText int

func (p pidText) String() string { return fmt.Sprint(int(p)) }

// startAttacker starts the attacker and waits until it is ready; 0 if it has ended by then, as it may.
func (w *worker) startAttacker(args []string) pidText {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if !w.now.servants {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(w.uid), Gid: uint32(w.uid)}
	}
	out, err := cmd.StdoutPipe()
	w.must(err)
	if err := cmd.Start(); err != nil {
		return 0 // its file cannot be executed
	}
	ready, ended := make(chan bool, 1), make(chan struct{})
	if w.now.servants {
		w.master, w.masterEnded = cmd, ended
	}
	go func() {
		n, _ := out.Read(make([]byte, 64))
		ready <- n > 0
		_ = cmd.Wait() // it is killed at the end of the round
		close(ended)
	}()
	select {
	case ok := <-ready:
		if !ok {
			return 0
		}
	case <-time.After(5 * time.Second):
	}
	return pidText(cmd.Process.Pid)
}

// endMaster ends a target that has rights, which should still be there.
func (w *worker) endMaster() {
	if w.master == nil {
		return
	}
	select {
	case <-w.masterEnded:
		w.harm("master", "it was ended by its servants: %v", w.master.ProcessState)
	default:
		_ = w.master.Process.Kill()
		<-w.masterEnded
	}
	w.master = nil
}
