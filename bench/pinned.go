package main

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"time"

	"culprit/internal/servers"
)

// A pinned load is pgbench on each processor that this process may use, with servers that stay there too. Left to the scheduler, client and
// server begin side by side; whatever disturbs them once, for however short a time, may part them for the rest of the load, which costs a
// fifth where they only read and says nothing of what comes after the disturbance.
type pinned struct {
	clients []*exec.Cmd
	said    []bytes.Buffer
}

// clientsEach processor has: it is never idle while one of them waits.
const clientsEach = 2

// startPinned starts a load that lasts as long as told.
func startPinned(pg *servers.Postgres, args []string, long time.Duration) (*pinned, error) {
	may, err := processorsOf(0)
	if err != nil {
		return nil, err
	}
	p := &pinned{said: make([]bytes.Buffer, len(may))}
	for _, cpu := range may {
		if err := p.start(pg, args, long, cpu); err != nil {
			kill(p.clients)
			return nil, errors.Join(err, wait(p.clients))
		}
	}
	return p, nil
}

func (p *pinned) start(pg *servers.Postgres, args []string, long time.Duration, cpu int) error {
	had, err := childrenOf(pg.PID)
	if err != nil {
		return err
	}
	all := slices.Concat([]string{"-c", strconv.Itoa(clientsEach), "-j", "1", "-n", "-M", "prepared", "-T", seconds(long), "-P", "1"}, args, []string{"postgres"})
	cmd := pg.Command("pgbench", all...)
	cmd.Stderr = &p.said[len(p.clients)]
	if err := cmd.Start(); err != nil {
		return err
	}
	p.clients = append(p.clients, cmd)
	begun, err := connected(pg.PID, had)
	if err != nil {
		return err
	}
	for _, pid := range append(begun, cmd.Process.Pid) {
		if err := pin(pid, cpu); err != nil {
			return err
		}
	}
	return nil
}

// connected waits for the servers of a pgbench: children that a postmaster had not before. The first one is gone soon: pgbench asks for
// the size of its tables before it begins.
func connected(postmaster int, had []int) ([]int, error) {
	var last []int
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		now, err := childrenOf(postmaster)
		if err != nil {
			return nil, err
		}
		now = slices.DeleteFunc(now, func(pid int) bool { return slices.Contains(had, pid) })
		if len(now) == clientsEach && slices.Equal(now, last) {
			return now, nil
		}
		last = now
	}
	return nil, errors.New("pgbench has not connected within 10 s")
}

// watch waits for the load's end and returns its seconds: as many as all clients tell of.
func (p *pinned) watch() ([]second, error) {
	list, err := eachSecond(p.clients, func() (float64, error) { return 0, nil })
	errs := []error{err}
	for i := range p.said {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s", p.said[i].Bytes()))
		}
		for s, m := range regexp.MustCompile(`progress: [\d.]+ s, ([\d.]+) tps`).FindAllStringSubmatch(p.said[i].String(), len(list)) {
			n, err := strconv.ParseFloat(m[1], 64)
			errs = append(errs, err)
			list[s].transactions += n
		}
	}
	return list, errors.Join(errs...)
}
