package browse

import (
	"strings"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"
	"github.com/rivo/uniseg"
)

// A span is clean text in one style.
type span struct {
	text  string
	style tcell.Style
}

// A line is one row of a list. Lines with the same key other than 0 belong together and are selected together.
type line struct {
	key   int
	spans []span
}

// A list draws lines, scrolls and selects. It asks for its lines each time it is drawn, for the width and height it has.
type list struct {
	*tview.Box
	render   func(width, height int) []line
	selected tcell.Style
	onEnter  func(key int)

	lines  []line
	top    int
	sel    int // key; 0 = none
	height int
}

func newList(render func(width, height int) []line, selected tcell.Style) *list {
	return &list{Box: tview.NewBox(), render: render, selected: selected}
}

// Draw implements tview.Primitive.
func (l *list) Draw(screen tcell.Screen) {
	l.DrawForSubclass(screen, l)
	x, y, w, h := l.GetInnerRect()
	if w <= 0 || h <= 0 {
		return
	}
	l.height = h
	l.lines = l.render(w, h)
	l.keepSelection()
	l.top = max(0, min(l.top, len(l.lines)-h))
	for i := 0; i < h && l.top+i < len(l.lines); i++ {
		l.drawLine(screen, x, y+i, w, l.lines[l.top+i])
	}
}

func (l *list) drawLine(screen tcell.Screen, x, y, w int, ln line) {
	chosen := ln.key != 0 && ln.key == l.sel
	end := x + w
	for _, s := range ln.spans {
		style := s.style
		if chosen {
			style = l.selected
		}
		x = put(screen, x, y, end, s.text, style)
	}
	for ; chosen && x < end; x++ {
		screen.Put(x, y, " ", l.selected)
	}
}

// put draws text from column x up to, not including, column end, and returns the column after it.
func put(screen tcell.Screen, x, y, end int, text string, style tcell.Style) int {
	for text != "" && x+firstWidth(text) <= end {
		rest, n := screen.Put(x, y, text, style)
		if len(rest) == len(text) { // outside of the screen, which may have shrunk meanwhile
			return end
		}
		text, x = rest, x+n
	}
	return x
}

// firstWidth is the width in cells of the first grapheme of s.
func firstWidth(s string) int {
	_, _, w, _ := uniseg.FirstGraphemeClusterInString(s, -1)
	return w
}

// keepSelection lets the selection survive new lines: the same key if it is still there, else the first that can be chosen.
func (l *list) keepSelection() {
	first := 0
	for _, ln := range l.lines {
		if ln.key != 0 && ln.key == l.sel {
			return
		}
		if first == 0 {
			first = ln.key
		}
	}
	l.sel = first
}

// span of the selection: the first and last line of it; -1 if there is none.
func (l *list) selection() (first, last int) {
	first, last = -1, -1
	for i, ln := range l.lines {
		if ln.key != 0 && ln.key == l.sel {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	return first, last
}

// move selects the n-th group after (or before) the selected one; without anything to select it scrolls.
func (l *list) move(n int) {
	first, last := l.selection()
	if first < 0 {
		l.scroll(n)
		return
	}
	i := last
	if n < 0 {
		i = first
	}
	for step := sign(n); n != 0; n -= step {
		next := l.nextKey(i, step)
		if next < 0 {
			l.reveal()
			l.scroll(step) // beyond the last group only text is left: show it
			return
		}
		l.sel = l.lines[next].key
		first, last = l.selection()
		i = last
		if step < 0 {
			i = first
		}
	}
	l.reveal()
}

// nextKey finds the next line after i in the direction whose key differs from that of line i.
func (l *list) nextKey(i, step int) int {
	for j := i + step; j >= 0 && j < len(l.lines); j += step {
		if k := l.lines[j].key; k != 0 && k != l.lines[i].key {
			return j
		}
	}
	return -1
}

func sign(n int) int {
	if n < 0 {
		return -1
	}
	return 1
}

func (l *list) scroll(n int) { l.top = max(0, min(l.top+n, len(l.lines)-l.height)) }

func (l *list) reveal() {
	first, last := l.selection()
	if first < 0 {
		return
	}
	if last >= l.top+l.height {
		l.top = last - l.height + 1
	}
	if first < l.top {
		l.top = first
	}
}

// end goes to the first or the last line.
func (l *list) end(step int) {
	if len(l.lines) == 0 {
		return
	}
	from := len(l.lines)
	l.top = len(l.lines) - l.height
	if step < 0 {
		from, l.top = -1, 0
	}
	for i := from - step; i >= 0 && i < len(l.lines); i -= step {
		if l.lines[i].key != 0 {
			l.sel = l.lines[i].key
			return
		}
	}
}

// InputHandler implements tview.Primitive.
func (l *list) InputHandler() func(*tcell.EventKey, func(tview.Primitive)) {
	return l.WrapInputHandler(func(e *tcell.EventKey, _ func(tview.Primitive)) {
		switch key := e.Key(); {
		case key == tcell.KeyUp || e.Rune() == 'k':
			l.move(-1)
		case key == tcell.KeyDown || e.Rune() == 'j':
			l.move(1)
		case key == tcell.KeyPgUp:
			l.move(-max(1, l.height-1))
		case key == tcell.KeyPgDn:
			l.move(max(1, l.height-1))
		case key == tcell.KeyHome || e.Rune() == 'g':
			l.end(-1)
		case key == tcell.KeyEnd || e.Rune() == 'G':
			l.end(1)
		case key == tcell.KeyEnter:
			l.enter()
		}
	})
}

func (l *list) enter() {
	if l.onEnter != nil && l.sel != 0 {
		l.onEnter(l.sel)
	}
}

// MouseHandler implements tview.Primitive: the wheel scrolls, a click selects, a double click is Enter.
func (l *list) MouseHandler() func(tview.MouseAction, *tcell.EventMouse, func(tview.Primitive)) (bool, tview.Primitive) {
	return l.WrapMouseHandler(func(a tview.MouseAction, e *tcell.EventMouse, _ func(tview.Primitive)) (bool, tview.Primitive) {
		x, y := e.Position()
		if !l.InRect(x, y) {
			return false, nil
		}
		switch a {
		case tview.MouseScrollUp:
			l.scroll(-3)
		case tview.MouseScrollDown:
			l.scroll(3)
		case tview.MouseLeftClick, tview.MouseLeftDoubleClick:
			l.click(y, a == tview.MouseLeftDoubleClick)
		default:
			return false, nil
		}
		return true, nil
	})
}

func (l *list) click(y int, double bool) {
	_, top, _, _ := l.GetInnerRect()
	i := l.top + y - top
	if i < 0 || i >= len(l.lines) || l.lines[i].key == 0 {
		return
	}
	l.sel = l.lines[i].key
	if double {
		l.enter()
	}
}

// width is how many cells a text takes.
func width(s string) int { return uniseg.StringWidth(s) }

// fit cuts or fills text to exactly w cells; where it cuts, the last cell is the mark.
func fit(s string, w int, mark string) string {
	if w <= 0 {
		return ""
	}
	n := width(s)
	if n <= w {
		return s + strings.Repeat(" ", w-n)
	}
	return cut(s, w, mark)
}

// cut shortens text to at most w cells, with the mark at its end if something is left out.
func cut(s string, w int, mark string) string {
	if width(s) <= w {
		return s
	}
	room := w - width(mark)
	if room < 0 {
		return ""
	}
	var b strings.Builder
	used, state := 0, -1
	for s != "" {
		var g string
		var gw int
		g, s, gw, state = uniseg.FirstGraphemeClusterInString(s, state)
		if used+gw > room {
			break
		}
		b.WriteString(g)
		used += gw
	}
	return b.String() + mark + strings.Repeat(" ", room-used)
}

// wrap breaks text into lines of at most w cells, at blanks where it can.
func wrap(s string, w int) []string {
	if w < 1 {
		return nil
	}
	var out []string
	cur := ""
	for _, word := range strings.Fields(s) {
		for width(word) > w {
			if cur != "" {
				out, cur = append(out, cur), ""
			}
			head := cutHard(word, w)
			out, word = append(out, head), word[len(head):]
		}
		switch {
		case word == "":
		case cur == "":
			cur = word
		case width(cur)+1+width(word) <= w:
			cur += " " + word
		default:
			out, cur = append(out, cur), word
		}
	}
	if cur != "" {
		out = append(out, cur)
	}
	return out
}

// cutHard is the longest prefix of whole graphemes that takes at most w cells, but at least one grapheme.
func cutHard(s string, w int) string {
	n, used, state, rest := 0, 0, -1, s
	for rest != "" {
		g, r, gw, st := uniseg.FirstGraphemeClusterInString(rest, state)
		if used+gw > w && n > 0 {
			break
		}
		n, used, rest, state = n+len(g), used+gw, r, st
	}
	return s[:n]
}
