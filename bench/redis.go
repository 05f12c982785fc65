package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"

	"culprit/daemon"
	"culprit/grid"
	"culprit/internal/servers"
	"culprit/pcl/check"
)

// passages counts every entry and every exit of a function.
const passages = `metric passages {
    name "passages"; units ops; unitsType unnormalized; aggregateOperator sum; style EventCounter;
    constraint passagesOfModule /Code is replace counter {
        foreach f in $constraint[0].funcs {
            append preInsn f.entry (* passages++; *)
            prepend preInsn f.return (* passages++; *)
        }
    }
    constraint passagesOfProcedure /Code/* is replace counter {
        append preInsn $constraint[0].entry (* passages++; *)
        prepend preInsn $constraint[0].return (* passages++; *)
    }
    base is counter { foreach f in $procedures append preInsn f.entry (* passages++; *) }
}`

// redis measures attaching to redis-server at work, probes at every function of it, and taking them out again.
func redis(r *Result, rounds int) error {
	if _, err := exec.LookPath("redis-server"); err != nil {
		return fmt.Errorf("redis-server is not installed: scripts/install-packages does it")
	}
	var attach, insert, remove, pauses, entries, module []float64
	for range rounds {
		all, err := redisOnce("passages", true)
		if err != nil {
			return err
		}
		calls, err := redisOnce("procedure_calls", true)
		if err != nil {
			return err
		}
		timer, err := redisOnce("exec_time_inclusive", false)
		if err != nil {
			return err
		}
		attach, insert, remove = append(attach, all.AttachMS), append(insert, all.InsertMS), append(remove, all.RemoveMS)
		pauses = append(pauses, float64(all.InsertPauseUS))
		entries, module = append(entries, calls.InsertMS), append(module, timer.InsertMS)
		r.InsertedFunctions, r.InsertedPoints = all.InsertedFunctions, all.InsertedPoints
	}
	r.AttachMS, r.InsertMS, r.RemoveMS = median(attach), median(insert), median(remove)
	r.InsertPauseUS = int64(median(pauses))
	r.InsertEntriesMS, r.InsertModuleMS = median(entries), median(module)
	return nil
}

// redisOnce puts a metric at each function, or once at the whole module, of a new server.
func redisOnce(metric string, each bool) (r Result, err error) {
	dir, err := os.MkdirTemp("", "culprit-bench")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	server, client, err := startRedis(dir)
	if err != nil {
		return r, err
	}
	defer server.Close()
	defer client.Close()
	lib, _, err := check.Load(check.Options{Texts: []string{passages}})
	if err != nil {
		return r, err
	}
	began := time.Now()
	d, err := daemon.Attach(context.Background(), daemon.Options{Library: lib}, server.PID)
	if err != nil {
		return r, err
	}
	defer d.Detach()
	d.Known()
	r.AttachMS = ms(began)
	keys := redisKeys(d, metric, each)
	stops := len(d.Pauses())
	began = time.Now()
	for _, res := range d.Enable(keys, nobody{}) {
		if res.Err == nil {
			r.InsertedFunctions++
		}
	}
	r.InsertMS, r.InsertedPoints = ms(began), d.Probes().Inserted
	for _, p := range d.Pauses()[stops:] {
		r.InsertPauseUS = max(r.InsertPauseUS, p.Microseconds())
	}
	time.Sleep(200 * time.Millisecond)
	began = time.Now()
	d.Disable(keys)
	if clean, err := d.Detach(); !clean {
		return r, err
	}
	r.RemoveMS = ms(began)
	return r, nil
}

func redisKeys(d *daemon.Daemon, metric string, each bool) (keys []grid.PairKey) {
	const module = "redis-server"
	if !each {
		return []grid.PairKey{{Metric: metric, Focus: grid.Whole().Refine(grid.Code, module)}}
	}
	for _, f := range d.Tree().Children(grid.Code, module) {
		keys = append(keys, grid.PairKey{Metric: metric, Focus: grid.Whole().Refine(grid.Code, module, f)})
	}
	return keys
}

func ms(since time.Time) float64 { return float64(time.Since(since).Microseconds()) / 1000 }

// startRedis starts the server on a socket in dir, and a client that asks it for something a thousand times a second until
// its connection is closed: the server works, and the machine has room for what is measured.
func startRedis(dir string) (server *servers.Redis, client net.Conn, err error) {
	if server, err = servers.StartRedis(dir); err != nil {
		return nil, nil, err
	}
	if client, err = net.Dial("unix", server.Socket); err != nil {
		return nil, nil, errors.Join(err, server.Close())
	}
	go ask(client)
	return server, client, nil
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
