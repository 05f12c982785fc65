package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"culprit/daemon"
	"culprit/grid"
	"culprit/pcl/check"
)

// crops are how many functions the program has for each number of points: one entry and one exit each, the first only an entry.
// They are in source files of their own, which are the modules that the probes are put at.
var crops = []struct{ points, functions int }{{1, 1}, {10, 5}, {100, 50}, {1000, 500}, {10_000, 5000}, {100_000, 50_000}}

// perFile is how many functions a source file has at most.
const perFile = 5000

// scale measures inserting ever more points into a large program that runs through all of its functions.
func scale(r *Result, _ int) error {
	dir, err := os.MkdirTemp("", "culprit-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	files, err := buildLarge(dir)
	if err != nil {
		return err
	}
	cmd := exec.Command(filepath.Join(dir, "large"))
	if err := startReady(cmd); err != nil {
		return err
	}
	defer end(cmd)
	lib, _, err := check.Load(check.Options{Texts: []string{passages}})
	if err != nil {
		return err
	}
	d, err := daemon.Attach(context.Background(), daemon.Options{Library: lib}, cmd.Process.Pid)
	if err != nil {
		return err
	}
	defer d.Detach()
	d.Known()
	for i, c := range crops {
		one, err := reap(d, cmd.Process.Pid, c.points, files[i])
		if err != nil {
			return err
		}
		r.Scale = append(r.Scale, one)
	}
	return nil
}

// startReady starts a program whose standard output says when it is ready.
func startReady(cmd *exec.Cmd) error {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		end(cmd)
		return err
	}
	return nil
}

// reap puts counters at the functions of some files, all at once, and takes them out.
func reap(d *daemon.Daemon, pid, points int, files []string) (c Crop, err error) {
	metric := "passages"
	if points == 1 {
		metric = "procedure_calls"
	}
	var keys []grid.PairKey
	for _, f := range files {
		keys = append(keys, grid.PairKey{Metric: metric, Focus: grid.Whole().Refine(grid.Code, f)})
	}
	before, err := residentMB(strconv.Itoa(pid), "VmRSS")
	if err != nil {
		return c, err
	}
	inserted, stops := d.Probes().Inserted, len(d.Pauses())
	began := time.Now()
	for _, res := range d.Enable(keys, nobody{}) {
		if res.Err != nil {
			return c, res.Err
		}
	}
	c.InsertMS, c.Points = ms(began), d.Probes().Inserted-inserted
	for _, p := range d.Pauses()[min(stops, len(d.Pauses())):] {
		c.Pauses++
		c.PauseUS = max(c.PauseUS, p.Microseconds())
	}
	time.Sleep(100 * time.Millisecond)
	if c.DaemonMB, err = ownMB(); err != nil {
		return c, err
	}
	after, err := residentMB(strconv.Itoa(pid), "VmRSS")
	c.TargetMB = after - before
	began = time.Now()
	d.Disable(keys)
	d.Settle()
	c.RemoveMS = ms(began)
	return c, err
}

// buildLarge writes and compiles the program, and returns the source files of each crop.
func buildLarge(dir string) (files [][]string, err error) {
	var all []string
	for _, c := range crops {
		var of []string
		for from := 0; from < c.functions; from += perFile {
			name := fmt.Sprintf("crop%d_%d.c", c.points, from/perFile)
			text := cropText(strings.TrimSuffix(name, ".c"), min(perFile, c.functions-from))
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				return nil, err
			}
			of = append(of, name)
		}
		files, all = append(files, of), append(all, of...)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.c"), []byte(mainText(all)), 0o644); err != nil {
		return nil, err
	}
	return files, compileAll(dir, append(all, "main.c"))
}

// cropText is a source file with n small functions, no two of them alike, and one that calls them all.
func cropText(name string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "unsigned %s_%d(unsigned x) { for (unsigned i = x & 3; i; i--) x = x * %d + (x >> %d); return x ^ %d; }\n", name, i, 2*i+3, 1+i%29, i*7)
	}
	b.WriteString("typedef unsigned (*function)(unsigned);\nstatic const function all[] = {")
	for i := range n {
		fmt.Fprintf(&b, "%s_%d,", name, i)
	}
	fmt.Fprintf(&b, "};\nconst function *const %s = all;\nconst unsigned %s_n = %d;\n", name, name, n)
	return b.String()
}

// mainText calls all functions in turn, a thousand times a second some of them.
func mainText(files []string) string {
	var b strings.Builder
	b.WriteString("#include <stdio.h>\n#include <unistd.h>\ntypedef unsigned (*function)(unsigned);\n")
	for _, f := range files {
		n := strings.TrimSuffix(f, ".c")
		fmt.Fprintf(&b, "extern const function *const %s; extern const unsigned %s_n;\n", n, n)
	}
	b.WriteString("int main(void) { volatile unsigned x = 1; puts(\"READY\"); fflush(stdout); for (;;) {\n")
	for _, f := range files {
		n := strings.TrimSuffix(f, ".c")
		fmt.Fprintf(&b, "for (unsigned i = 0; i < %s_n; i++) x = %s[i](x);\nusleep(1000);\n", n, n)
	}
	b.WriteString("} }\n")
	return b.String()
}

// compileAll compiles files on all processors and links them.
func compileAll(dir string, files []string) error {
	errs := make([]error, len(files))
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.NumCPU() {
		wg.Go(func() {
			for i := range next {
				errs[i] = gcc(dir, "-O1", "-g1", "-c", files[i])
			}
		})
	}
	for i := range files {
		next <- i
	}
	close(next)
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	objects := []string{"-o", "large"}
	for _, f := range files {
		objects = append(objects, strings.TrimSuffix(f, ".c")+".o")
	}
	return gcc(dir, objects...)
}

func gcc(dir string, args ...string) error {
	cmd := exec.Command("gcc", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("gcc %q: %v\n%s", args, err, out)
	}
	return nil
}
