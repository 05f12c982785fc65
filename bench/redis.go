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

// redis measures attaching to redis-server at work, a counter at every function of it, and taking them out again.
func redis(r *Result, rounds int) error {
	if _, err := exec.LookPath("redis-server"); err != nil {
		return fmt.Errorf("redis-server is not installed: scripts/install.sh does it")
	}
	var attach, insert, remove, pauses []float64
	for range rounds {
		var one Result
		if err := redisOnce(&one); err != nil {
			return err
		}
		attach, insert, remove = append(attach, one.AttachMS), append(insert, one.InsertMS), append(remove, one.RemoveMS)
		pauses = append(pauses, float64(one.InsertPauseUS))
		r.InsertedFunctions = one.InsertedFunctions
	}
	r.AttachMS, r.InsertMS, r.RemoveMS = median(attach), median(insert), median(remove)
	r.InsertPauseUS = int64(median(pauses))
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
	if err != nil {
		return err
	}
	defer client.Close()
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
	stops := len(d.Pauses())
	began = time.Now()
	for _, res := range d.Enable(keys, nobody{}) {
		if res.Err == nil {
			r.InsertedFunctions++
		}
	}
	r.InsertMS = ms(began)
	for _, p := range d.Pauses()[stops:] {
		r.InsertPauseUS = max(r.InsertPauseUS, p.Microseconds())
	}
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

// startRedis starts the server on a socket in dir, and a client that asks it for something a thousand times a second until
// its connection is closed: the server works, and the machine has room for what is measured.
func startRedis(dir string) (server *exec.Cmd, client net.Conn, err error) {
	socket := filepath.Join(dir, "s")
	server = exec.Command("redis-server", "--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "", "--appendonly", "no")
	if err := server.Start(); err != nil {
		return nil, nil, err
	}
	for i := 0; ; i++ {
		if client, err = net.Dial("unix", socket); err == nil {
			go ask(client)
			return server, client, nil
		} else if i == 100 {
			return server, nil, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func ask(c net.Conn) {
	var answer [4096]byte
	for {
		if _, err := c.Write([]byte("SET k v\r\nGET k\r\nLPUSH l v\r\nLPOP l\r\n")); err != nil {
			return
		}
		if _, err := c.Read(answer[:]); err != nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// end kills a process that this program started and waits for it.
func end(c *exec.Cmd) {
	if c != nil && c.Process != nil {
		c.Process.Kill()
		c.Wait()
	}
}
