package main

import "os/exec"

// uftrace measures what "uftrace record" adds to a call of the function that the others probe: it is compiled with -pg, so
// that uftrace is called at its entry and changes its return address. It is compared with the function as it is without.
func uftrace(r *Result, rounds int) error {
	if _, err := exec.LookPath("uftrace"); err != nil {
		skip("no uftrace to compare with: %v", err)
		return nil
	}
	var diffs []float64
	for range rounds {
		bare, err := once(func(dir, bin string) *exec.Cmd { return exec.Command(bin, "1") })
		if err != nil {
			return err
		}
		traced, err := once(func(dir, bin string) *exec.Cmd {
			return exec.Command("uftrace", "record", "--no-libcall", "-d", dir+"/data", "-F", "leaf", bin, "1")
		}, "-pg")
		if err != nil {
			return err
		}
		diffs = append(diffs, traced-bare)
	}
	m := median(diffs)
	r.UftracePairNS = &m
	return nil
}

// once builds the program, starts it as it is told, and asks it for one call of the few that it makes for slow probes.
func once(command func(dir, bin string) *exec.Cmd, flags ...string) (float64, error) {
	dir, bin, err := build("bench/target/loop.c", flags...)
	if err != nil {
		return 0, err
	}
	l, err := runLoop(dir, command(dir, bin))
	if err != nil {
		return 0, err
	}
	defer l.stop()
	return l.ask("u")
}
