package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"culprit/daemon/kernel"
	"culprit/internal/procfs"
)

// What a search costs a server: its throughput with and without a search from the beginning of a load to its end, attaching and removing
// included, in turn, and beside a bystander.

// A Loss is what a search costs a server; figures are medians of the alternations.
type Loss struct {
	Load     string  `json:"load"`
	Build    string  `json:"build"`      // "this", or the path of the other one
	Seconds  float64 `json:"seconds"`    // that each load lasts
	BarePerS float64 `json:"bare_per_s"` // transactions or requests per second without a search
	// LossPercent is by how much fewer there are during a search: of the alternations each is compared with the mean of the loads
	// without a search before and after it.
	LossPercent float64 `json:"loss_percent"`
	// LossFrom and LossTo are the ends of the interval that has the mean of those with 95 % certainty, null after one round; ReportedPercent is
	// what culprit said that the server has lost, the mean of its reports.
	LossFrom        *float64 `json:"loss_from_percent"`
	LossTo          *float64 `json:"loss_to_percent"`
	ReportedPercent float64  `json:"reported_percent"`
	// WorkPercent is by how much more processor time the server's processes take for each, compared in the same way: what probes
	// cost, whatever else the machine does.
	WorkPercent float64 `json:"work_percent"`
	// BystanderPercent is by how much fewer there are while a process that has nothing to do with the server uses as much processor
	// time as culprit did: whoever does anything on full processors costs that.
	BystanderPercent float64 `json:"bystander_percent"`
	// NoisePercent is by how much two loads without a search, one after the other, differ.
	NoisePercent float64 `json:"noise_percent"`
	DaemonCPU    float64 `json:"daemon_cpu"` // processors that culprit used
	Processes    int     `json:"processes"`  // that it measured

	reported           []float64
	bare, with, beside []served
}

// A served is what a load got.
type served struct{ rate, work float64 } // per second; processor seconds for each

// A load is one run of a load generator, which returns how many a second there were.
type load func() (rate float64, err error)

// lossOf alternates loads without a search, with one of each build of culprit, and each time one beside a bystander that uses as much.
func lossOf(name string, pid, rounds int, f load) ([]Loss, error) {
	tool, err := buildTool()
	if err != nil {
		return nil, err
	}
	defer tool.remove()
	var all []Loss
	for _, b := range builds() {
		all = append(all, Loss{Load: name, Build: b, Seconds: span.Seconds()})
	}
	for range rounds {
		for i := range all {
			if err := all[i].round(tool, pid, f); err != nil {
				return nil, err
			}
		}
	}
	for i := range all {
		last, err := serve(pid, f)
		if err != nil {
			return nil, err
		}
		all[i].bare = append(all[i].bare, last)
		all[i].judge()
	}
	return all, nil
}

// builds are those that are measured: that of this source tree, and before it the other one if there is one.
func builds() []string {
	if *before != "" {
		return []string{*before, "this"}
	}
	return []string{"this"}
}

// round is one load without a search, one with it, and one beside a bystander.
func (l *Loss) round(tool *tool, pid int, f load) error {
	one, err := serve(pid, f)
	if err != nil {
		return err
	}
	two, used, err := l.searched(tool, pid, f)
	if err != nil {
		return err
	}
	three, err := besides(used, pid, f)
	if err != nil {
		return err
	}
	l.bare, l.with, l.beside = append(l.bare, one), append(l.with, two), append(l.beside, three)
	return nil
}

// judge works out the medians; bare has one more than the others.
func (l *Loss) judge() {
	var rates, loss, work, bystander, noise []float64
	for i, w := range l.with {
		a, b := l.bare[i], l.bare[i+1]
		rates = append(rates, a.rate)
		loss = append(loss, 100*(1-w.rate/((a.rate+b.rate)/2)))
		work = append(work, 100*(w.work/((a.work+b.work)/2)-1))
		bystander = append(bystander, 100*(1-l.beside[i].rate/((a.rate+b.rate)/2)))
		noise = append(noise, 100*max(b.rate/a.rate-1, 1-b.rate/a.rate))
	}
	l.BarePerS, l.LossPercent, l.WorkPercent, l.NoisePercent = median(rates), median(loss), median(work), median(noise)
	l.BystanderPercent = median(bystander)
	within := "not known"
	if len(loss) > 1 {
		from, to := certain(loss)
		l.LossFrom, l.LossTo = &from, &to
		within = fmt.Sprintf("within %.2f and %.2f %%", from, to)
	}
	l.ReportedPercent = 100 * mean(l.reported)
	fmt.Fprintf(os.Stderr, "%s, %s: %.0f a second; lost during a search %.2f %% (%.1f; the mean is %s, reported were %.2f %%), more work for each %.2f %% (%.1f); lost beside a bystander %.2f %% (%.1f); noise %.1f %%\n",
		l.Load, l.Build, l.BarePerS, l.LossPercent, loss, within, l.ReportedPercent, l.WorkPercent, work, l.BystanderPercent, bystander, l.NoisePercent)
}

// settle is how long servers have to be rid of those that served: who ends between two looks is in neither.
const settle = 500 * time.Millisecond

// serve is one load, with the processor time that the server's processes take for it.
func serve(pid int, f load) (served, error) {
	before := processorTime(pid)
	rate, err := f()
	time.Sleep(settle)
	if err == nil && rate <= 0 {
		err = errors.New("the load generator does not say how many there were")
	}
	return served{rate, (processorTime(pid) - before) / max(rate*span.Seconds(), 1)}, err
}

// searched is a load during a search, and the processors that culprit used.
func (l *Loss) searched(tool *tool, pid int, f load) (_ served, used float64, _ error) {
	cmd := tool.searchBy(l.Build, pid)
	if err := cmd.Start(); err != nil {
		return served{}, 0, err
	}
	one, err := serve(pid, f)
	_ = cmd.Wait() // its status says what it found; that it ended well is in the report
	said, readErr := tool.report()
	if err := errors.Join(err, readErr); err != nil {
		return one, 0, err
	}
	l.DaemonCPU, l.Processes = max(l.DaemonCPU, said.Overhead.DaemonCPU), max(l.Processes, len(said.Targets))
	l.reported = append(l.reported, said.Overhead.Observed)
	return one, said.Overhead.DaemonCPU, nil
}

// processorTime is what a process, its children and those of them that have ended used, in seconds.
func processorTime(pid int) (sum float64) {
	for _, p := range kernel.Processes() {
		if p.PID != pid && p.Parent != pid {
			continue
		}
		if st, err := procfs.ReadStat(p.PID); err == nil {
			sum += float64(st.User+st.System+st.Children) / procfs.Ticks
		}
	}
	return sum
}
