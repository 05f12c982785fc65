package raw

import (
	"bytes"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// A File is /proc/PID/mem of a process, opened: it is bound to the address space, not to the number of the process.
type File struct {
	FD int // -1 if there is none
}

// Read reads through /proc/PID/mem, which is bound to the address space that was opened and also reads pages without read permission.
func (f *File) Read(addr Addr, buf []byte) error {
	n, err := f.Pread(buf, addr)
	if err == nil && n < len(buf) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("read of %d bytes at %v failed after %d: %w", len(buf), addr, n, err)
	}
	return nil
}

// Pread reads as far as there is memory, and gives the number of bytes.
func (f *File) Pread(buf []byte, addr Addr) (n int, err error) {
	for n < len(buf) {
		k, err := unix.Pread(f.FD, buf[n:], int64(addr)+int64(n))
		if err == unix.EINTR {
			continue
		}
		if err != nil || k == 0 {
			return n, err
		}
		n += k
	}
	return n, nil
}

// Pwrite writes through /proc/PID/mem. It can never reach another process than the one that was opened, whatever became of the pid.
func (f *File) Pwrite(data []byte, addr Addr) (n int, err error) {
	for n < len(data) {
		k, err := unix.Pwrite(f.FD, data[n:], int64(addr)+int64(n))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return n, err
		}
		if k == 0 {
			return n, unix.ESRCH
		}
		n += k
	}
	return n, nil
}

// WriteText writes bytes anywhere, and reads them back. A *WriteError names the first address that is not as it should be.
func (f *File) WriteText(data []byte, addr Addr) error {
	if n, err := f.Pwrite(data, addr); err != nil {
		return &WriteError{Addr: addr + Addr(n), Err: err}
	}
	got := make([]byte, len(data))
	if err := f.Read(addr, got); err != nil {
		return &WriteError{Addr: addr, Err: err}
	}
	if bytes.Equal(got, data) {
		return nil
	}
	i := 0
	for got[i] == data[i] {
		i++
	}
	return &WriteError{Addr: addr + Addr(i), Want: data[i:], Got: got[i:]}
}
