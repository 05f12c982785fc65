package segment

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"culprit/daemon/process"
)

// An area is memory that a target shares with the daemon. The daemon makes it, fixes its size and passes it into the target, so that
// nothing that a target names is ever opened here. There are two kinds. Code, and what says how to undo it, can be written to by the
// daemon alone: no mapping of it can be made writable any more, neither in the target nor in a child that it forks and that gives up
// its rights. Counters the target writes to itself; they are believed in nothing.
type area struct {
	fd  int    // -1 once it was closed
	mem []byte // the daemon's mapping, read-write

	inode uint64 // by which what a target maps is known to be of it
}

// An areaKind says who may write to an area besides the daemon.
type areaKind int

const (
	sealed   areaKind = iota // nobody
	counters                 // the target
)

// areaSeals are what both kinds have.
const areaSeals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// newArea makes an area of that many bytes, a multiple of the page's size. Without Close its memory stays until the daemon ends.
func newArea(size int, kind areaKind) (*area, error) {
	fd, err := unix.MemfdCreate(Name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // MFD_EXEC is new in 6.3
		fd, err = unix.MemfdCreate(Name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, fmt.Errorf("making memory to share with the target: %w", err)
	}
	a := &area{fd: fd}
	if err := a.prepare(size, kind); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// prepare gives the area its size and its mapping here, and then the seals: none can be taken back, and none added.
func (a *area) prepare(size int, kind areaKind) error {
	var st unix.Stat_t
	if err := unix.Fstat(a.fd, &st); err != nil {
		return fmt.Errorf("memory to share with the target: %w", err)
	}
	a.inode = st.Ino
	if err := unix.Ftruncate(a.fd, int64(size)); err != nil {
		return fmt.Errorf("sizing %d bytes to share with the target: %w", size, err)
	}
	if err := unix.Fchmod(a.fd, 0); err != nil { // nobody opens it anew, by whatever path
		return fmt.Errorf("memory to share with the target: %w", err)
	}
	mem, err := unix.Mmap(a.fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("mapping %d bytes to share with the target: %w", size, err)
	}
	a.mem = mem
	seals := areaSeals
	if kind == sealed {
		seals |= unix.F_SEAL_FUTURE_WRITE
	}
	_, err = unix.FcntlInt(uintptr(a.fd), unix.F_ADD_SEALS, seals)
	switch {
	case errors.Is(err, unix.EINVAL):
		return &process.Unsupported{What: "memory that only we can write to", Needs: "Linux 5.1 (F_SEAL_FUTURE_WRITE)"}
	case err != nil:
		return fmt.Errorf("sealing memory to share with the target: %w", err)
	}
	return nil
}

// passed forgets the descriptor: the target has mapped what it is to map.
func (a *area) passed() {
	if a.fd >= 0 {
		unix.Close(a.fd)
		a.fd = -1
	}
}

// Close unmaps the daemon's side.
func (a *area) Close() {
	a.passed()
	if a.mem != nil {
		unix.Munmap(a.mem)
		a.mem = nil
	}
}

// pass gives the target descriptors of areas; they are its to close.
func pass(w *process.World, pid int, areas ...*area) ([]int, error) {
	fds := make([]int, len(areas))
	for i, a := range areas {
		fds[i] = a.fd
	}
	there, err := w.PassFDs(fds, func(...int) error { return faultSending.Hit(pid) })
	if err == nil {
		if err = faultSent.Hit(pid); err != nil {
			err = errors.Join(err, closeAll(w, there))
		}
	}
	for _, a := range areas {
		a.passed()
	}
	return there, err
}

// closeAll closes descriptors of the target.
func closeAll(w *process.World, fds []int) error {
	var errs []error
	for _, fd := range fds {
		errs = append(errs, w.CloseFD(fd))
	}
	return errors.Join(errs...)
}
