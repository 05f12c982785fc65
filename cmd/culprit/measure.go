package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"culprit/cmd/culprit/internal/browse"
	"culprit/consultant"
	"culprit/grid"
	"culprit/internal/safetext"
	"culprit/session"
	"culprit/session/report"
)

// A measurement is one run of attach or run, from reading the flags to the exit status.
type measurement struct {
	attachment
	opts    *measureOptions
	screens bool
	// pointless is set if a watched pair was about nothing that the targets have
	pointless bool
	openedAt  time.Time // when measuring began
	mu        sync.Mutex
	later     []string // lines for stderr that wait until the screens are closed
	attached  bool
	early     []string // what rooms log until then: of an attach that fails at once the error says it
	began     time.Time
}

// prepare reads everything that can be wrong before any process is touched.
func prepare(opts *measureOptions) (*measurement, error) {
	lib, err := opts.library()
	if err != nil {
		return nil, err
	}
	watches, err := opts.watches(lib)
	if err != nil {
		return nil, err
	}
	for _, w := range watches {
		if err := w.Check(lib); err != nil {
			return nil, &statusError{exitUsage, fmt.Errorf("--watch: %w", err)}
		}
	}
	history, err := opts.earlier()
	if err != nil {
		return nil, err
	}
	m := &measurement{opts: opts, screens: opts.screens(), began: time.Now()}
	if opts.noSearch && len(watches) == 0 {
		m.say("culprit: warning: nothing will be measured: --no-search needs --watch METRIC[@FOCUS]; culprit metrics lists what there is")
	}
	if opts.json != "" && opts.json != "-" {
		if err := report.CheckWritable(opts.json); err != nil {
			m.say("culprit: warning: %v; the measurement goes on, and the answer will be printed", err)
		}
	}
	m.cfg = session.Config{
		Tool: toolName(), Library: lib, Budget: float64(opts.budget), Children: opts.children, Search: !opts.noSearch, History: history, Phases: !opts.noPhases, Socket: !opts.noSocket,
		Backend: grid.Backend(opts.backend), Watches: watches, OnEvent: m.progress, Log: m.note, Attached: m.note, Guard: guard, Missing: m.missing,
	}
	return m, nil
}

// run attaches, measures until the end, removes the probes and tells the answer.
func (m *measurement) run(ctx context.Context, pids []int) error {
	ctx, stop := interruptible(ctx, pids)
	defer stop()
	s, err := m.open(ctx, pids)
	if err != nil {
		return err
	}
	m.openedAt = time.Now()
	m.sayEarly()
	limits := session.Limits{For: time.Duration(m.opts.length), Auto: !m.screens}
	var end session.End
	var screenErr error
	if m.screens {
		end, screenErr = m.runScreens(ctx, s, limits)
	} else {
		end = s.Run(ctx, limits)
	}
	m.progressf("%s (%s)", m.lastStep(), endText[end])
	closeErr := s.Close()
	if end != s.End() {
		end = s.End()
		m.progressf("%s before its probes were removed", endText[end])
	}
	m.flush()
	m.pointless = s.Pointless()
	err = m.answer(s.Report(), end, closeErr)
	if broken := errors.Join(screenErr, s.SearchError()); broken != nil {
		return &statusError{exitFailed, errors.Join(broken, err)}
	}
	return err
}

// lastStep is what is done at the end.
func (m *measurement) lastStep() string {
	if m.cfg.Backend == grid.BackendSample || m.cfg.Backend == grid.BackendEBPF {
		return "ending"
	}
	return "removing the probes"
}

var endText = map[session.End]string{
	session.EndTime: "the time is over", session.EndSettled: "nothing is left to be tested",
	session.EndInterrupted: "interrupted", session.EndTarget: "the target has ended",
}

// runScreens shows the screens while the session runs. They close when the user quits, the time is over or a signal came;
// when the target ends they stay, so that what was found can be read.
func (m *measurement) runScreens(ctx context.Context, s *session.Session, l session.Limits) (session.End, error) {
	runCtx, quit := context.WithCancel(ctx)
	defer quit()
	viewCtx, closeScreens := context.WithCancel(ctx)
	defer closeScreens()
	ended := make(chan session.End, 1)
	go func() {
		end := s.Run(runCtx, l)
		ended <- end
		if end != session.EndTarget {
			closeScreens()
		}
	}()
	err := browse.Run(viewCtx, s, browse.Options{Mono: os.Getenv("NO_COLOR") != "", ASCII: m.opts.ascii || !utf8Locale()})
	quit()
	return <-ended, err
}

// answer prints the answer, writes the report and finds the exit status.
func (m *measurement) answer(r *report.Report, end session.End, closeErr error) error {
	status := m.status(r, end, closeErr)
	r.ExitStatus = status
	if m.program != nil && len(r.Targets) > 0 && r.Targets[0].PID == m.program.PID {
		r.Targets[0].Before = report.Number(m.openedAt.Sub(m.program.Began).Seconds())
		if code, ended := m.program.ExitCode(end == session.EndTarget); ended {
			r.Targets[0].Ended, r.Targets[0].ExitCode = true, code
		}
	}
	err := m.writeAnswer(r)
	if closeErr != nil {
		err = errors.Join(fmt.Errorf("not every probe could be removed: %w", closeErr), err)
	}
	if err != nil {
		return &statusError{exitFailed, err}
	}
	return exitWith(status)
}

func (m *measurement) status(r *report.Report, end session.End, closeErr error) int {
	switch {
	case closeErr != nil || m.pointless:
		return exitFailed
	case end == session.EndTarget:
		return exitEnded
	}
	return foundStatus(r)
}

// foundStatus is the exit status that says what was found.
func foundStatus(r *report.Report) int {
	switch {
	case len(r.Bottlenecks) > 0:
		return exitBottleneck
	case r.Unknown(), r.AsksInVain():
		return exitUnknown
	}
	return exitNothing
}

// writeAnswer prints sentences and saves JSON; with --json - only JSON goes to standard output. Where the report cannot be
// written the answer is printed all the same.
func (m *measurement) writeAnswer(r *report.Report) error {
	if m.opts.json == "-" {
		if err := unlessClosed(r.Encode(os.Stdout)); err != nil {
			return fmt.Errorf("the report cannot be written to standard output: %w", err)
		}
		return nil
	}
	err := unlessClosed(r.WriteText(os.Stdout))
	if err != nil {
		err = fmt.Errorf("the answer cannot be written to standard output: %w", err)
	}
	if m.opts.json != "" {
		err = errors.Join(err, r.Save(m.opts.json))
	}
	return err
}

// progress prints an event of the search; m may be showing screens, which say the same in their own way.
func (m *measurement) progress(e consultant.Event) {
	if !m.opts.quiet && !m.screens {
		warnf("+%.1fs %s", e.At, safetext.CleanMax(e.Text, 400))
	}
}

func (m *measurement) progressf(format string, args ...any) {
	if !m.opts.quiet && !m.screens {
		warnf("culprit: "+format, args...)
	}
}

// failsAtOnce is how soon an attach fails that the kernel does not permit.
const failsAtOnce = time.Second

// note keeps what a room logs: printed at once, or when the screens are closed; at the beginning when the attach has succeeded.
func (m *measurement) note(text string) {
	if m.opts.quiet {
		return
	}
	line := "culprit: " + safetext.CleanMax(text, 400)
	m.mu.Lock()
	if !m.attached && time.Since(m.began) < failsAtOnce {
		m.early = append(m.early, line)
		m.mu.Unlock()
		return
	}
	m.mu.Unlock()
	m.sayEarly()
	m.say("%s", line)
}

// sayEarly prints what was logged before the attach had succeeded, or took long.
func (m *measurement) sayEarly() {
	m.mu.Lock()
	list := m.early
	m.attached, m.early = true, nil
	m.mu.Unlock()
	for _, line := range list {
		m.say("%s", line)
	}
}

// missing tells of a watched pair that the targets have nothing of, also where progress is not asked for.
func (m *measurement) missing(key grid.PairKey, err error) {
	m.say("culprit: %s", missingText(key, err))
}

// missingText says why a pair is not measured. The name that matches nothing comes first.
func missingText(key grid.PairKey, err error) string {
	return safetext.CleanMax(fmt.Sprintf("%v; %v is not measured", err, key), maxLine)
}

// maxLater bounds the lines that wait for the screens to close.
const maxLater = 200

func (m *measurement) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.screens {
		warn(line)
	} else if len(m.later) < maxLater {
		m.later = append(m.later, line)
	}
}

// flush prints what waited for the screens to close, and waits until it is written: the answer comes behind it.
func (m *measurement) flush() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, line := range m.later {
		warn(line)
	}
	m.later = nil
	warnings.flush()
}
