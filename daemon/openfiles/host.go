package openfiles

import (
	"slices"
	"sync"

	"culprit/grid"
)

// A Host is what the tables of all processes have in common: the tree of resources and the names of pipes.
type Host struct {
	mu     sync.Mutex
	tree   *grid.Tree
	pipes  pipeUsers
	tables []*Table        // of processes that live
	locks  map[string]bool // files whose locks are resources, by part
}

// NewHost makes a host without tables.
func NewHost(tree *grid.Tree) *Host { return &Host{tree: tree, locks: map[string]bool{}} }

// Table adds the table of a process, until Close.
func (h *Host) Table(cfg Config) *Table {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := &Table{host: h, cfg: cfg, open: map[int]descriptor{}, seen: map[string]*seenFile{}, numbers: map[string]uint32{}}
	h.tables = append(h.tables, t)
	return t
}

// Close is called when the process has ended, or is not measured any more. Without it files that it had open may be listed for ever. It may be
// called again, and of no table.
func (t *Table) Close() {
	if t == nil {
		return
	}
	t.host.mu.Lock()
	defer t.host.mu.Unlock()
	t.host.tables = slices.DeleteFunc(t.host.tables, func(o *Table) bool { return o == t })
}

// isOpen tells whether a process had something open lately, or when it was last looked at: of many processes each has its turn. mu is held.
func (h *Host) isOpen(part string, at float64) bool {
	return slices.ContainsFunc(h.tables, func(t *Table) bool {
		s := t.seen[part]
		return s != nil && (at-s.at < GoneFor || s.at >= t.looked)
	})
}
