package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"culprit/daemon"
	"culprit/grid"
	"culprit/pcl"
)

// redis measures attaching to redis-server under load, a counter at every function of it, and taking them out again.
func redis(r *Result, rounds int) error {
	if _, err := exec.LookPath("redis-server"); err != nil {
		return fmt.Errorf("redis-server is not installed: scripts/install.sh does it")
	}
	var attach, insert, remove []float64
	for range rounds {
		var one Result
		if err := redisOnce(&one); err != nil {
			return err
		}
		attach, insert, remove = append(attach, one.AttachMS), append(insert, one.InsertMS), append(remove, one.RemoveMS)
		r.InsertPauseUS = max(r.InsertPauseUS, one.InsertPauseUS)
		r.InsertedFunctions = one.InsertedFunctions
	}
	r.AttachMS, r.InsertMS, r.RemoveMS = median(attach), median(insert), median(remove)
	return nil
}

func redisOnce(r *Result) error {
	dir, err := os.MkdirTemp("", "culprit-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	server, client, err := startRedis(dir)
	defer end(server)
	defer end(client)
	if err != nil {
		return err
	}
	lib, _, err := pcl.Load(pcl.Options{})
	if err != nil {
		return err
	}
	began := time.Now()
	d, err := daemon.Attach(context.Background(), daemon.Options{Library: lib}, server.Process.Pid)
	if err != nil {
		return err
	}
	defer d.Detach()
	d.Known()
	r.AttachMS = ms(began)
	var keys []grid.PairKey
	for _, f := range d.Tree().Children(grid.Code, "redis-server") {
		keys = append(keys, grid.PairKey{Metric: "procedure_calls", Focus: grid.Whole().Refine(grid.Code, "redis-server", f)})
	}
	began = time.Now()
	for _, res := range d.Enable(keys, nobody{}) {
		if res.Err == nil {
			r.InsertedFunctions++
		}
	}
	r.InsertMS = ms(began)
	r.InsertPauseUS = d.Overhead().Pauses.MaxUS
	time.Sleep(200 * time.Millisecond)
	began = time.Now()
	d.Disable(keys)
	if clean, err := d.Detach(); !clean {
		return err
	}
	r.RemoveMS = ms(began)
	return nil
}

func ms(since time.Time) float64 { return float64(time.Since(since).Microseconds()) / 1000 }

// startRedis starts the server on a socket in dir, and a benchmark client that keeps it busy.
func startRedis(dir string) (server, client *exec.Cmd, err error) {
	socket := filepath.Join(dir, "s")
	server = exec.Command("redis-server", "--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "", "--appendonly", "no")
	if err := server.Start(); err != nil {
		return nil, nil, err
	}
	for i := 0; ; i++ {
		if c, err := net.Dial("unix", socket); err == nil {
			c.Close()
			break
		} else if i == 100 {
			return server, nil, err
		}
		time.Sleep(20 * time.Millisecond)
	}
	client = exec.Command("redis-benchmark", "-s", socket, "-q", "-l", "-c", "20", "-t", "set,get")
	return server, client, client.Start()
}

// end kills a process that this program started and waits for it.
func end(c *exec.Cmd) {
	if c != nil && c.Process != nil {
		c.Process.Kill()
		c.Wait()
	}
}
