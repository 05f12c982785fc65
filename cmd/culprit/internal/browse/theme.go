package browse

import (
	"github.com/gdamore/tcell/v2"

	"culprit/consultant"
)

// A theme says how things look. In mono nothing depends on colour; in ASCII every character is printable ASCII.
type theme struct {
	mono, ascii bool
}

func (t theme) plain() tcell.Style { return tcell.StyleDefault }

func (t theme) bold() tcell.Style { return tcell.StyleDefault.Bold(true) }

func (t theme) dim() tcell.Style {
	if t.mono {
		return tcell.StyleDefault
	}
	return tcell.StyleDefault.Dim(true)
}

func (t theme) chosen() tcell.Style { return tcell.StyleDefault.Reverse(true) }

func (t theme) head() tcell.Style { return tcell.StyleDefault.Reverse(true) }

func (t theme) colour(c tcell.Color) tcell.Style {
	if t.mono {
		return tcell.StyleDefault
	}
	return tcell.StyleDefault.Foreground(c)
}

// state is the style of a node: never grey, queued and testing yellow, true blue, false pink, refused and over budget dim.
func (t theme) state(s consultant.State) tcell.Style {
	switch s {
	case consultant.True:
		return t.colour(tcell.ColorDodgerBlue).Bold(true)
	case consultant.False:
		return t.colour(tcell.ColorHotPink)
	case consultant.Queued, consultant.Testing:
		return t.colour(tcell.ColorYellow)
	case consultant.Refused, consultant.OverBudget, consultant.Deferred, consultant.Pruned:
		return t.dim()
	}
	return t.colour(tcell.ColorGray)
}

// axis is the style of the edge that leads to a node.
func (t theme) axis(a string) tcell.Style {
	switch a {
	case "where":
		return t.colour(tcell.ColorTeal)
	case "when":
		return t.colour(tcell.ColorPurple)
	}
	return t.colour(tcell.ColorGray)
}

// cutMark ends text that was cut.
func (t theme) cutMark() string {
	if t.ascii {
		return "~"
	}
	return "…"
}

// fold is the mark of a row: children shown, children hidden, shadow, or none.
func (t theme) fold(r row) string {
	switch {
	case r.Shadow && t.ascii:
		return "="
	case r.Shadow:
		return "↗"
	case r.Children == 0:
		return " "
	case r.Open && t.ascii:
		return "-"
	case r.Open:
		return "▾"
	case t.ascii:
		return "+"
	}
	return "▸"
}
