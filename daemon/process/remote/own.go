package remote

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// The page from which the calls of one Stop are made. It is mapped by the first of them, which a borrowed piece of a stack is needed for, and
// unmapped when the function given to Stop has returned. A tracer that is killed in between leaves it; it is known by its place, where
// nobody else maps anything, and the next one that makes a call removes it.
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
	if err != nil || len(Leftovers(maps)) == 0 {
		return err
	}
	_, err = w.Syscall(unix.SYS_GETPID) // any call does
	return err
}

// place gives the low end of n bytes for the frame of a call that a thread makes.
func (w *Caller) place(caller, n int) (raw.Addr, error) {
	if w.own != 0 && !w.borrowing && n <= ownSize {
		return w.own, nil
	}
	return w.FindScratch(caller, n)
}

// mapOwn maps the page. Where the target may have no more memory calls are made from what is borrowed.
func (w *Caller) mapOwn() error {
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

// UnmapOwn unmaps the page. A thread that is still in one keeps the page, until another Stop finds that it has left.
func (w *Caller) UnmapOwn() error {
	if w.own == 0 || !w.unoccupied(w.own, ownSize) {
		return nil
	}
	if err := w.unpark(); err != nil {
		return err
	}
	w.borrowing = true
	err := w.Munmap(w.own, ownSize)
	w.own, w.borrowing = 0, false
	return err
}
