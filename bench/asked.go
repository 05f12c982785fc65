package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"culprit/internal/servers"
)

// An asked load is wrk with one thread on each processor that this process may use, asking nginx with a worker on each. A processor is never
// idle then: with nginx on one and wrk on another each waits for the other in turn, and how many requests it finds when it wakes up changes
// what a request takes by a tenth, for a minute or two, with a search and without.
type asked struct {
	nginx *servers.Nginx
	wrks  []*exec.Cmd
}

const (
	statusPath     = "/status"
	statusSettings = "location = " + statusPath + " { stub_status; }"
	connections    = 64 // of each wrk: with fewer, how the kernel has shared them out among the workers makes loads differ
)

// startAsked starts a load that lasts as long as told.
func startAsked(n *servers.Nginx, path, header string, long time.Duration) (*asked, error) {
	may, err := processorsOf(0)
	if err != nil {
		return nil, err
	}
	workers, err := childrenOf(n.PID)
	if err != nil {
		return nil, err
	}
	a := &asked{nginx: n}
	for i, cpu := range may {
		if i < len(workers) {
			if err := pin(workers[i], cpu); err != nil {
				return nil, errors.Join(err, a.end())
			}
		}
		if err := a.start(path, header, long, cpu); err != nil {
			return nil, errors.Join(err, a.end())
		}
	}
	return a, nil
}

// start has wrk ask from one processor.
func (a *asked) start(path, header string, long time.Duration, cpu int) error {
	cmd, err := a.nginx.WrkCommand(path, header, connections, long)
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	a.wrks = append(a.wrks, cmd)
	return pin(cmd.Process.Pid, cpu)
}

func (a *asked) end() error {
	kill(a.wrks)
	return wait(a.wrks)
}

func (a *asked) watch() ([]second, error) { return eachSecond(a.wrks, a.answered) }

var requestsSaid = regexp.MustCompile(`requests\s+\d+ \d+ (\d+)`)

// answered is how many requests nginx has handled since it began, this one among them.
func (a *asked) answered() (float64, error) {
	answer, err := http.Get(a.nginx.URL + statusPath)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	m := requestsSaid.FindSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("nginx does not say how many requests it has handled: %q", text)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}
