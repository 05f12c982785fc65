package browse

import (
	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"
)

// An item of a bar is a piece of text; a click on it does the same as its key. Key 0 is plain text.
type item struct {
	key  rune
	text string
}

// A bar is one row of items.
type bar struct {
	*tview.Box
	items func(width int) []item
	style tcell.Style
	press func(rune)
}

func newBar(items func(width int) []item, style tcell.Style, press func(rune)) *bar {
	return &bar{Box: tview.NewBox(), items: items, style: style, press: press}
}

// Draw implements tview.Primitive.
func (b *bar) Draw(screen tcell.Screen) {
	b.DrawForSubclass(screen, b)
	x, y, w, h := b.GetInnerRect()
	if h <= 0 {
		return
	}
	end := x + w
	for i := x; i < end; i++ {
		screen.Put(i, y, " ", b.style)
	}
	for _, it := range b.items(w) {
		x = put(screen, x, y, end, it.text, b.style)
	}
}

// at is the key of the item at a column.
func (b *bar) at(column int) rune {
	x, _, w, _ := b.GetInnerRect()
	for _, it := range b.items(w) {
		x += width(it.text)
		if column < x {
			return it.key
		}
	}
	return 0
}

// MouseHandler implements tview.Primitive: a click on an item presses its key.
func (b *bar) MouseHandler() func(tview.MouseAction, *tcell.EventMouse, func(tview.Primitive)) (bool, tview.Primitive) {
	return b.WrapMouseHandler(func(a tview.MouseAction, e *tcell.EventMouse, _ func(tview.Primitive)) (bool, tview.Primitive) {
		x, y := e.Position()
		if a != tview.MouseLeftClick || !b.InRect(x, y) {
			return false, nil
		}
		if k := b.at(x); k != 0 && b.press != nil {
			b.press(k)
		}
		return true, nil
	})
}
