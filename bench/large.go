package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"time"

	"culprit/daemon"
	"culprit/grid"
	"culprit/pcl/check"
)

// chromium is the largest executable that Debian ships; the program in the search path is a script that starts it.
const chromium = "/usr/lib/chromium/chromium"

// large measures attaching to a program of some hundred megabytes.
func large(r *Result, rounds int) error {
	info, err := os.Stat(chromium)
	if err != nil {
		skip("no large program to attach to: %v", err)
		return nil
	}
	var took, kept, peak []float64
	for range min(rounds, 3) {
		one, err := largeOnce()
		if err != nil {
			return err
		}
		took, kept, peak = append(took, *one.AttachLargeMS), append(kept, *one.AttachLargeMB), append(peak, *one.AttachLargePeakMB)
		r.LargeFunctions = one.LargeFunctions
	}
	size, t, k, p := mib(info), median(took), median(kept), median(peak)
	r.LargeFileMB, r.AttachLargeMS, r.AttachLargeMB, r.AttachLargePeakMB = &size, &t, &k, &p
	return nil
}

func mib(info fs.FileInfo) float64 { return float64(info.Size()) / (1 << 20) }

// largeOnce attaches to a new one.
func largeOnce() (r Result, err error) {
	dir, err := os.MkdirTemp("", "culprit-bench")
	if err != nil {
		return r, err
	}
	defer removeBusy(dir)
	cmd := exec.Command(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-port=0", "--user-data-dir="+dir, "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+dir)
	if err := cmd.Start(); err != nil {
		return r, err
	}
	defer end(cmd)
	if err := started(cmd, dir+"/DevToolsActivePort"); err != nil {
		return r, err
	}
	before, err := ownMB()
	if err != nil {
		return r, err
	}
	if err := forgetPeak(); err != nil {
		return r, err
	}
	return measureLarge(cmd.Process.Pid, before)
}

func measureLarge(pid int, before float64) (r Result, err error) {
	lib, _, err := check.Load(check.Options{})
	if err != nil {
		return r, err
	}
	began := time.Now()
	d, err := daemon.Attach(context.Background(), daemon.Options{Library: lib}, pid)
	if err != nil {
		return r, err
	}
	defer d.Detach()
	d.Known()
	took := ms(began)
	most, err := residentMB("self", "VmHWM")
	if err != nil {
		return r, err
	}
	after, err := ownMB()
	after, most = after-before, most-before
	r.AttachLargeMS, r.AttachLargeMB, r.AttachLargePeakMB = &took, &after, &most
	for _, module := range d.Tree().Children(grid.Code) {
		r.LargeFunctions += len(d.Tree().Children(grid.Code, module))
	}
	return r, err
}

// started waits until the program has written the file that says so.
func started(cmd *exec.Cmd, file string) error {
	for range 300 {
		if _, err := os.Stat(file); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("%s does not start", cmd.Path)
}

// removeBusy removes a directory into which children of a process that was killed may still write while they end.
func removeBusy(dir string) {
	for range 20 {
		os.RemoveAll(dir)
		time.Sleep(50 * time.Millisecond)
		if _, err := os.Stat(dir); os.IsNotExist(err) {
			return
		}
	}
}
