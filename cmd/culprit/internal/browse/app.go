package browse

import (
	"context"
	"fmt"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"culprit/consultant"
	"culprit/session"
	"culprit/session/report"
)

// refresh is how often a new snapshot is taken and drawn.
const refresh = 250 * time.Millisecond

// A Source is what the screens show and act upon: a *session.Session is one. Its methods are called from any goroutine.
type Source interface {
	Snapshot() session.Snapshot
	Expand(id int) error
	Prune(id int) error
	Retest(id int) error
	StartPhase(name string) (report.Phase, error)
}

// Options choose how the screens look.
type Options struct {
	Mono   bool         // no colours (NO_COLOR)
	ASCII  bool         // only ASCII characters
	Screen tcell.Screen // nil = the terminal
}

// A view is one screen.
type view int

const (
	viewVerdict view = iota
	viewTree
	viewEvidence
	viewHelp
	viewWatched
)

// An app is the running screens. All its fields belong to the goroutine of the application.
type app struct {
	tv     *tview.Application
	source Source
	theme  theme
	body   *list

	snap    session.Snapshot
	view    view
	back    view // where Esc leads from evidence and help
	node    int  // of the evidence
	closed  map[int]bool
	places  map[view]place
	message string
	until   time.Time // until when the message is shown
}

// A place is where the user was in a view.
type place struct{ top, sel int }

// Run shows the screens until the user quits or ctx ends; the error is that of the terminal. It removes no probe: that is
// up to the caller. The terminal is as before when it returns.
func Run(ctx context.Context, src Source, opts Options) error {
	a := newApp(src, opts)
	done := make(chan struct{})
	defer close(done)
	go a.keepFresh(ctx, done)
	return a.tv.Run()
}

func newApp(src Source, opts Options) *app {
	a := &app{
		tv: tview.NewApplication(), source: src, theme: theme{mono: opts.Mono, ascii: opts.ASCII},
		closed: map[int]bool{}, places: map[view]place{}, snap: src.Snapshot(),
	}
	tview.Styles.PrimitiveBackgroundColor = tcell.ColorDefault
	if opts.Screen != nil {
		a.tv.SetScreen(opts.Screen)
	}
	a.body = newList(a.lines, a.theme.chosen())
	a.body.onEnter = a.enter
	press := func(k rune) { a.press(tcell.NewEventKey(tcell.KeyRune, k, tcell.ModNone)) }
	root := tview.NewFlex().SetDirection(tview.FlexRow).
		AddItem(newBar(a.header, a.theme.head(), press), 1, 0, false).
		AddItem(a.body, 0, 1, true).
		AddItem(newBar(a.footer, a.theme.head(), press), 1, 0, false)
	a.tv.SetRoot(root, true).EnableMouse(true).SetInputCapture(a.press)
	return a
}

// keepFresh draws a new snapshot at each refresh, and ends the application when ctx ends. If the application ends while
// an update is in its queue, this goroutine waits for ever; the program is about to end then.
func (a *app) keepFresh(ctx context.Context, done <-chan struct{}) {
	t := time.NewTicker(refresh)
	defer t.Stop()
	for {
		select {
		case <-done:
			return
		case <-ctx.Done():
			a.tv.QueueUpdate(a.tv.Stop) // by the queue: it holds also if Run has not begun yet
			return
		case <-t.C:
			snap := a.source.Snapshot()
			a.tv.QueueUpdateDraw(func() { a.snap = snap })
		}
	}
}

// press handles the keys that mean the same everywhere, and gives the others on.
func (a *app) press(e *tcell.EventKey) *tcell.EventKey {
	switch {
	case e.Key() == tcell.KeyCtrlC || e.Key() == tcell.KeyCtrlBackslash || e.Rune() == 'q' || e.Rune() == 'Q':
		a.tv.Stop()
	case e.Rune() == '1':
		a.show(viewVerdict)
	case e.Rune() == '2':
		a.show(viewTree)
	case e.Rune() == '3':
		a.show(viewWatched)
	case e.Rune() == '?' || e.Key() == tcell.KeyF1:
		a.help()
	case e.Key() == tcell.KeyTab || e.Key() == tcell.KeyBacktab:
		a.other()
	case e.Key() == tcell.KeyEscape || e.Key() == tcell.KeyBackspace || e.Key() == tcell.KeyBackspace2:
		a.leave()
	case e.Key() == tcell.KeyCtrlL:
		go a.tv.Sync()
	case a.act(e):
	default:
		return e
	}
	return nil
}

// act handles the keys that change the search or the tree; it reports whether the key was one of them.
func (a *app) act(e *tcell.EventKey) bool {
	id := a.current()
	switch {
	case e.Rune() == 'x':
		a.search("expand", a.source.Expand, id)
	case e.Rune() == 'p':
		a.search("prune", a.source.Prune, id)
	case e.Rune() == 'r':
		a.search("re-test", a.source.Retest, id)
	case e.Rune() == 'n':
		a.startPhase()
	case a.view != viewTree:
		return false
	case e.Rune() == ' ':
		a.closed[id] = !a.closed[id]
	case e.Key() == tcell.KeyLeft:
		a.closed[id] = true
	case e.Key() == tcell.KeyRight:
		a.closed[id] = false
	default:
		return false
	}
	return true
}

// current is the node that a key means; 0 if there is none.
func (a *app) current() int {
	switch a.view {
	case viewEvidence:
		return a.node
	case viewTree, viewVerdict:
		return a.body.sel
	}
	return 0
}

// search asks for a manual refinement on a goroutine of its own, since it may take a while.
func (a *app) search(what string, do func(int) error, id int) {
	if id == 0 {
		a.say("Choose a node first.")
		return
	}
	a.say(what + " ...")
	go func() {
		text := what + ": done"
		if err := do(id); err != nil {
			text = what + ": " + clean(err.Error())
		}
		a.tv.QueueUpdateDraw(func() { a.say(text) })
	}()
}

// startPhase begins a phase on a goroutine of its own, since it may take a while.
func (a *app) startPhase() {
	a.say("new phase ...")
	go func() {
		p, err := a.source.StartPhase("")
		text := fmt.Sprintf("phase %s begins: what happens from now on has a search of its own", clean(p.Name))
		if err != nil {
			text = "new phase: " + clean(err.Error())
		}
		a.tv.QueueUpdateDraw(func() { a.say(text) })
	}()
}

func (a *app) say(text string) { a.message, a.until = text, time.Now().Add(5*time.Second) }

// show changes the view and remembers where the user was in the old one.
func (a *app) show(v view) {
	if v == a.view {
		return
	}
	a.places[a.view] = place{a.body.top, a.body.sel}
	p := a.places[v]
	if v == viewEvidence || v == viewHelp {
		p = place{}
	}
	a.view, a.body.top, a.body.sel = v, p.top, p.sel
}

func (a *app) enter(id int) {
	if a.view != viewVerdict && a.view != viewTree {
		return
	}
	a.back, a.node = a.view, id
	a.show(viewEvidence)
}

func (a *app) help() {
	if a.view == viewHelp {
		a.leave()
		return
	}
	if a.view != viewEvidence {
		a.back = a.view
	}
	a.show(viewHelp)
}

func (a *app) leave() {
	if a.view == viewEvidence || a.view == viewHelp {
		a.show(a.back)
	}
}

func (a *app) other() {
	if a.view == viewTree {
		a.show(viewVerdict)
	} else {
		a.show(viewTree)
	}
}

// nodeOf finds a node in the snapshot; nil if there is none.
func (a *app) nodeOf(id int) *consultant.Node {
	for i := range a.snap.Nodes {
		if a.snap.Nodes[i].ID == id {
			return &a.snap.Nodes[i]
		}
	}
	return nil
}
