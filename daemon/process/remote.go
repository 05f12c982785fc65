package process

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Mmap maps memory in the target as mmap(2) does. With MAP_FIXED_NOREPLACE an address that is taken gives unix.EEXIST, also on kernels
// before 4.17 which only take it for a hint.
func (w *World) Mmap(addr Addr, length uint64, prot, flags, fd int, off uint64) (Addr, error) {
	got, err := w.Syscall(unix.SYS_MMAP, uint64(addr), length, uint64(prot), uint64(flags), uint64(int64(fd)), off)
	if err != nil {
		return 0, fmt.Errorf("mmap of %d bytes at %v in the target: %w", length, addr, err)
	}
	if flags&unix.MAP_FIXED_NOREPLACE != 0 && Addr(got) != addr {
		if err := w.Munmap(Addr(got), length); err != nil {
			return 0, err
		}
		return 0, fmt.Errorf("mmap of %d bytes at %v in the target: %w", length, addr, unix.EEXIST)
	}
	w.remapped(Addr(got), length)
	return Addr(got), nil
}

// Munmap unmaps memory of the target.
func (w *World) Munmap(addr Addr, length uint64) error {
	if _, err := w.Syscall(unix.SYS_MUNMAP, uint64(addr), length); err != nil {
		return fmt.Errorf("munmap of %d bytes at %v in the target: %w", length, addr, err)
	}
	w.remapped(addr, length)
	return nil
}

// CloseFD closes a descriptor of the target.
func (w *World) CloseFD(fd int) error {
	if _, err := w.Syscall(unix.SYS_CLOSE, uint64(fd)); err != nil {
		return fmt.Errorf("close of descriptor %d in the target: %w", fd, err)
	}
	return nil
}

// MemfdCreate makes a memfd in the target and gives its descriptor there; OpenFD opens it here. The name has at most 249 bytes and no zero.
// MFD_EXEC is asked for where the kernel (6.3) knows it. Descriptors are inherited over exec unless flags has MFD_CLOEXEC.
func (w *World) MemfdCreate(name string, flags int) (fd int, err error) {
	if len(name) > 249 {
		return 0, fmt.Errorf("memfd name of %d bytes: at most 249 are allowed", len(name))
	}
	n, err := w.syscall([]byte(name), unix.SYS_MEMFD_CREATE, 0, uint64(flags|unix.MFD_EXEC))
	if errors.Is(err, unix.EINVAL) && flags&unix.MFD_EXEC == 0 {
		n, err = w.syscall([]byte(name), unix.SYS_MEMFD_CREATE, 0, uint64(flags))
	}
	if err != nil {
		return 0, fmt.Errorf("memfd_create in the target: %w", err)
	}
	return int(n), nil
}
