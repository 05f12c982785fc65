package remote

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// The page from which calls of one Stop are made where no frame may stay on the caller's own stack, or where what they leave behind must be found again:
// two calls more. It is mapped from a borrowed piece of a stack, and unmapped when the function given to Stop has returned. A tracer that is killed in between
// leaves it; it is known by its place, where nobody else maps anything, and the next one that maps a page, or removes what was left, unmaps it.
const (
	ownSize  = 32 << 10       // a frame with the largest vector state, and a name
	ownFirst = 0x43554c500000 // the first of the places; in ASCII CULP
	ownNext  = 1 << 20        // from one place to the next
	ownLast  = ownFirst + 15*ownNext
)

// Leftovers are the mappings that tracers which were killed have left: harmless, but ours.
func Leftovers(maps []raw.Mapping) (left []raw.Mapping) {
	for _, m := range maps {
		if IsOwn(m) {
			left = append(left, m)
		}
	}
	return left
}

// IsOwn reports whether a mapping is one that calls are made from.
func IsOwn(m raw.Mapping) bool {
	return m.Start >= ownFirst && m.Start <= ownLast && (m.Start-ownFirst)%ownNext == 0 && m.Len() == ownSize && m.Perms == raw.Read|raw.Write && m.Inode == 0 && m.Path == ""
}

// Tidy removes what killed tracers have left and no thread stands on.
func (w *Caller) Tidy() error {
	maps, err := w.stackMaps()
	if err != nil {
		return err
	}
	return w.removeLeft(Leftovers(maps))
}

// place gives the low end of n bytes for the frame of a call that a thread makes, and says whether the frame may stay there between calls: in a page
// of ours, or below the thread's own stack pointer, where nobody goes before it is back. Elsewhere it is for one call: that which maps the page.
func (w *Caller) place(caller, n int) (at raw.Addr, stays bool, err error) {
	if w.own == 0 || w.borrowing || n > ownSize {
		at, stays, err = w.FindScratch(caller, n)
		if err != nil || stays || w.borrowing || n > ownSize {
			return at, stays, err
		}
		if err := errors.Join(w.mapOwn(), w.unpark()); err != nil { // to remove what was left it may have made calls from the page
			return 0, false, err
		}
		if w.own == 0 {
			return at, false, nil
		}
	}
	return w.own, true, nil
}

// mapOwn maps the page, unless it is there or the target may have no more memory.
func (w *Caller) mapOwn() error {
	if w.own != 0 || w.borrowing {
		return nil
	}
	maps, err := w.stackMaps()
	if err != nil {
		return err
	}
	left := Leftovers(maps)
	w.borrowing = true
	for at := raw.Addr(ownFirst); at <= ownLast; at += ownNext {
		if slices.ContainsFunc(maps, func(m raw.Mapping) bool { return m.Start < at+ownSize && at < m.End }) {
			continue
		}
		got, err := w.Mmap(at, ownSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED_NOREPLACE, -1, 0)
		switch {
		case err == nil:
			raw.Fault("call.own-page")
			w.own, w.borrowing = got, false
			if err := w.unpark(); err != nil { // calls are made from the page now
				return err
			}
			return w.removeLeft(left)
		case errors.Is(err, unix.ENOMEM):
			return w.removeLeft(left)
		case !errors.Is(err, unix.EEXIST):
			w.borrowing = false
			return err
		}
	}
	return nil
}

// removeLeft unmaps the pages of killed tracers.
func (w *Caller) removeLeft(left []raw.Mapping) error {
	for _, m := range left {
		if !w.unoccupied(m.Start, ownSize) {
			continue
		}
		if err := w.Munmap(m.Start, ownSize); err != nil {
			return err
		}
	}
	return nil
}

// Leave brings back the thread that made the last call, and unmaps the page. A thread that is still in the page keeps it, until another Stop finds
// that it has left.
func (w *Caller) Leave() error {
	if err := w.unpark(); err != nil || w.own == 0 || !w.unoccupied(w.own, ownSize) {
		return err
	}
	w.borrowing = true
	err := w.Munmap(w.own, ownSize)
	w.own, w.borrowing = 0, false
	return errors.Join(err, w.unpark())
}
