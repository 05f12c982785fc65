package grid

import "sync"

// A FoldGroup holds the histograms that share a start. They have the same width at any time: when one has to fold, all
// do.
type FoldGroup struct {
	start  float64
	onFold func(width float64)

	mu      sync.Mutex // also that of every member
	members map[*Histogram]struct{}
	width   float64 // of the members
}

// NewFoldGroup makes a group for histograms that start at start (s since session start). onFold (nil for none) is called
// after each fold with the new width in seconds, without locks held, on the goroutine that added the value.
func NewFoldGroup(start float64, onFold func(width float64)) *FoldGroup {
	return &FoldGroup{start: start, onFold: onFold, members: map[*Histogram]struct{}{}, width: FinestWidth}
}

// New makes a histogram in the group. It takes the width of those that are there; if there are none, the smallest that
// covers the time from the start to now (s since session start).
func (g *FoldGroup) New(style Style, now float64) *Histogram {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.members) == 0 {
		g.width = max(g.width, WidthFor(now-g.start))
	}
	h := newHistogram(g.start, style, g.width, &g.mu)
	h.group = g
	g.members[h] = struct{}{}
	return h
}

// Remove takes a histogram out. What is in it stays readable, and it folds alone from now on.
func (g *FoldGroup) Remove(h *Histogram) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if h.group == g {
		delete(g.members, h)
		h.group = nil
	}
}

// Start is the start that the members share, in s since session start.
func (g *FoldGroup) Start() float64 { return g.start }

// Width is the present width of a bin in seconds.
func (g *FoldGroup) Width() float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.width
}

// Len is the number of members.
func (g *FoldGroup) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.members)
}

// foldAll folds all members once. The mutex is held.
func (g *FoldGroup) foldAll() {
	g.width *= 2
	for h := range g.members {
		h.fold()
	}
}

// told calls the callback, if there is one. No mutex is held.
func (g *FoldGroup) told(width float64) {
	if g != nil && g.onFold != nil {
		g.onFold(width)
	}
}
