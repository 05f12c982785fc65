package browse

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"culprit/cmd/culprit/internal/proclist"
)

// ErrQuit is what Pick returns if the user chose nothing.
var ErrQuit = errors.New("nothing was chosen")

// A picker is the list of processes to choose from. Its fields belong to the goroutine of the application.
type picker struct {
	tv     *tview.Application
	theme  theme
	list   *list
	procs  []proclist.Proc
	busy   map[int]float64 // share of a CPU since the list was read before
	filter string
	chosen int
}

// Pick shows the user's processes and returns the pid of the one chosen with Enter; ErrQuit if none was, or ctx ended.
func Pick(ctx context.Context, opts Options) (int, error) {
	p, err := newPicker(opts)
	if err != nil {
		return 0, err
	}
	done := make(chan struct{})
	defer close(done)
	go p.keepFresh(ctx, done)
	if err := p.tv.Run(); err != nil {
		return 0, err
	}
	if p.chosen == 0 {
		return 0, ErrQuit
	}
	return p.chosen, nil
}

func newPicker(opts Options) (*picker, error) {
	procs, err := proclist.Own()
	if err != nil {
		return nil, err
	}
	p := &picker{tv: tview.NewApplication(), theme: theme{opts.Mono, opts.ASCII}, procs: procs, busy: map[int]float64{}}
	tview.Styles.PrimitiveBackgroundColor = tcell.ColorDefault
	if opts.Screen != nil {
		p.tv.SetScreen(opts.Screen)
	}
	p.list = newList(p.lines, p.theme.chosen())
	p.list.onEnter = func(pid int) { p.chosen = pid; p.tv.Stop() }
	root := tview.NewFlex().SetDirection(tview.FlexRow).
		AddItem(newBar(p.header, p.theme.head(), nil), 1, 0, false).
		AddItem(p.list, 0, 1, true).
		AddItem(newBar(p.footer, p.theme.head(), p.pressRune), 1, 0, false)
	p.tv.SetRoot(root, true).EnableMouse(true).SetInputCapture(p.press)
	return p, nil
}

// ticksPerSecond is USER_HZ, which is 100 on every Linux (man 7 time).
const ticksPerSecond = 100

// keepFresh reads the processes each second.
func (p *picker) keepFresh(ctx context.Context, done <-chan struct{}) {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	before, last := map[int]proclist.Proc{}, time.Now()
	for _, one := range p.procs {
		before[one.PID] = one
	}
	for {
		select {
		case <-done:
			return
		case <-ctx.Done():
			p.tv.QueueUpdate(p.tv.Stop)
			return
		case <-t.C:
			procs, err := proclist.Own()
			if err != nil {
				continue
			}
			now := time.Now()
			busy := shares(before, procs, now.Sub(last).Seconds())
			last = now
			p.tv.QueueUpdateDraw(func() { p.update(procs, busy) })
		}
	}
}

// shares computes the share of a CPU that each process used in the last seconds, and takes procs as the new before.
func shares(before map[int]proclist.Proc, procs []proclist.Proc, seconds float64) map[int]float64 {
	busy := map[int]float64{}
	for _, one := range procs {
		if old, ok := before[one.PID]; ok && old.Start == one.Start && one.Ticks >= old.Ticks && seconds > 0 {
			busy[one.PID] = float64(one.Ticks-old.Ticks) / ticksPerSecond / seconds
		}
	}
	clear(before)
	for _, one := range procs {
		before[one.PID] = one
	}
	return busy
}

// update keeps the order of the list as it is, so that nothing jumps away below the finger; new processes come last.
func (p *picker) update(procs []proclist.Proc, busy map[int]float64) {
	fresh := map[int]proclist.Proc{}
	for _, one := range procs {
		fresh[one.PID] = one
	}
	var list []proclist.Proc
	for _, old := range p.procs {
		if one, ok := fresh[old.PID]; ok {
			list = append(list, one)
			delete(fresh, old.PID)
		}
	}
	for _, one := range procs {
		if _, ok := fresh[one.PID]; ok {
			list = append(list, one)
		}
	}
	p.procs, p.busy = list, busy
}

func (p *picker) header(w int) []item {
	head := fmt.Sprintf(" %7s %5s %4s  %s", "PID", "CPU %", "THR", "COMMAND")
	return []item{{0, cut(head, w, p.theme.cutMark())}}
}

func (p *picker) footer(int) []item {
	items := []item{{'\r', " Enter attach "}, {'\x1b', " Esc quit "}}
	if p.filter != "" {
		return append(items, item{0, " only: " + p.filter})
	}
	return append(items, item{0, " type to filter "})
}

func (p *picker) pressRune(r rune) {
	if r == '\r' {
		p.list.enter()
	} else {
		p.tv.Stop()
	}
}

// press handles what is typed: it filters; the other keys move.
func (p *picker) press(e *tcell.EventKey) *tcell.EventKey {
	switch e.Key() {
	case tcell.KeyCtrlC, tcell.KeyCtrlBackslash:
		p.tv.Stop()
	case tcell.KeyEscape:
		if p.filter == "" {
			p.tv.Stop()
		}
		p.filter = ""
	case tcell.KeyBackspace, tcell.KeyBackspace2:
		if r := []rune(p.filter); len(r) > 0 {
			p.filter = string(r[:len(r)-1])
		}
	case tcell.KeyRune:
		if len(p.filter) < 100 {
			p.filter += clean(string(e.Rune()))
		}
	default:
		return e
	}
	return nil
}

func (p *picker) lines(w, _ int) []line {
	var out []line
	for i := range p.procs {
		one := &p.procs[i]
		name := clean(commandLine(one))
		if !contains(name, p.filter) {
			continue
		}
		s := fmt.Sprintf(" %7d %5.1f %4d  %s", one.PID, 100*p.busy[one.PID], one.Threads, name)
		out = append(out, line{one.PID, []span{{cut(s, w, p.theme.cutMark()), p.theme.plain()}}})
	}
	if len(out) == 0 {
		out = append(out, text(p.theme.bold(), " No process of yours matches.", 0))
	}
	return out
}
