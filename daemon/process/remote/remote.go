package remote

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// Mmap maps memory in the target as mmap(2) does. With MAP_FIXED_NOREPLACE an address that is taken gives unix.EEXIST, also on kernels
// before 4.17 which only take it for a hint.
func (w *Caller) Mmap(addr raw.Addr, length uint64, prot, flags, fd int, off uint64) (raw.Addr, error) {
	got, err := w.Syscall(unix.SYS_MMAP, uint64(addr), length, uint64(prot), uint64(flags), uint64(int64(fd)), off)
	if err != nil {
		return 0, fmt.Errorf("mmap of %d bytes at %v in the target: %w", length, addr, err)
	}
	if flags&unix.MAP_FIXED_NOREPLACE != 0 && raw.Addr(got) != addr {
		if err := w.Munmap(raw.Addr(got), length); err != nil {
			return 0, err
		}
		return 0, fmt.Errorf("mmap of %d bytes at %v in the target: %w", length, addr, unix.EEXIST)
	}
	w.remapped(raw.Addr(got), length)
	return raw.Addr(got), nil
}

// Munmap unmaps memory of the target.
func (w *Caller) Munmap(addr raw.Addr, length uint64) error {
	if _, err := w.Syscall(unix.SYS_MUNMAP, uint64(addr), length); err != nil {
		if errors.Is(err, unix.EPERM) {
			err = fmt.Errorf("%w: the program has sealed its mappings (mseal), and they stay until it ends", err)
		}
		return fmt.Errorf("munmap of %d bytes at %v in the target: %w", length, addr, err)
	}
	w.remapped(addr, length)
	return nil
}

// CloseFD closes a descriptor of the target.
func (w *Caller) CloseFD(fd int) error {
	if _, err := w.Syscall(unix.SYS_CLOSE, uint64(fd)); err != nil {
		return fmt.Errorf("close of descriptor %d in the target: %w", fd, err)
	}
	return nil
}
