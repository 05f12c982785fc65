package main

import (
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"culprit/internal/servers"
)

// An asked load is wrk with one thread asking nginx with one worker, each on a processor of its own while there are two: both begin side by
// side otherwise, and part when something disturbs them. What was done nginx knows itself.
type asked struct {
	nginx *servers.Nginx
	wrk   *exec.Cmd
}

const (
	statusPath     = "/status"
	statusSettings = "location = " + statusPath + " { stub_status; }"
	connections    = 8
)

// startAsked starts a load that lasts as long as told.
func startAsked(n *servers.Nginx, path, header string, long time.Duration) (*asked, error) {
	workers, err := childrenOf(n.PID)
	if err != nil {
		return nil, err
	}
	cmd, err := n.WrkCommand(path, header, connections, long)
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	a := &asked{n, cmd}
	if err := a.pin(workers); err != nil {
		kill([]*exec.Cmd{cmd})
		return nil, fmt.Errorf("%w (%v)", err, cmd.Wait())
	}
	return a, nil
}

// pin puts the workers on the first processor and wrk on the last one.
func (a *asked) pin(workers []int) error {
	may, err := processors()
	if err != nil {
		return err
	}
	for _, pid := range workers {
		if err := pin(pid, may[0]); err != nil {
			return err
		}
	}
	return pinThreads(a.wrk.Process.Pid, may[len(may)-1])
}

func (a *asked) watch() ([]second, error) { return eachSecond([]*exec.Cmd{a.wrk}, a.answered) }

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
