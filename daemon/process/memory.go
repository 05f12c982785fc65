package process

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// ReadMem fills buf from the target's memory at addr, or fails: there are no short reads. No thread is stopped, so the bytes may be
// changing while they are read.
func (p *Process) ReadMem(addr Addr, buf []byte) error {
	release, err := p.use()
	if err != nil {
		return err
	}
	defer release()
	if err := p.readMem(addr, buf); err != nil {
		return p.gone(err)
	}
	return p.alive()
}

func (p *Process) readMem(addr Addr, buf []byte) error {
	if len(buf) == 0 {
		return nil
	}
	local := []unix.Iovec{{Base: &buf[0], Len: uint64(len(buf))}}
	remote := []unix.RemoteIovec{{Base: uintptr(addr), Len: len(buf)}}
	if n, err := unix.ProcessVMReadv(p.pid, local, remote, 0); err == nil && n == len(buf) {
		return nil
	}
	return p.readText(addr, buf)
}

// readText reads through /proc/PID/mem, which is bound to the address space that was opened and also reads pages without read permission.
func (p *Process) readText(addr Addr, buf []byte) error {
	n, err := p.pread(buf, addr)
	if err == nil && n < len(buf) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("read of %d bytes at %v failed after %d: %w", len(buf), addr, n, err)
	}
	return nil
}

func (p *Process) pread(buf []byte, addr Addr) (n int, err error) {
	for n < len(buf) {
		k, err := unix.Pread(p.mem, buf[n:], int64(addr)+int64(n))
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

// pwrite writes through /proc/PID/mem. It can never reach another process than the one that was opened, whatever became of the pid.
func (p *Process) pwrite(data []byte, addr Addr) (n int, err error) {
	for n < len(data) {
		k, err := unix.Pwrite(p.mem, data[n:], int64(addr)+int64(n))
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

// WriteData writes data to writable memory of the running target. It refuses memory that is not mapped writable: text is written
// with World.WriteText while the world is stopped. Not atomic.
func (p *Process) WriteData(addr Addr, data []byte) error {
	if err := p.onlyLooking("writing to"); err != nil {
		return err
	}
	release, err := p.use()
	if err != nil {
		return err
	}
	defer release()
	if err := p.alive(); err != nil {
		return err
	}
	if err := p.checkWritable(addr, len(data)); err != nil {
		return p.gone(err)
	}
	// Not process_vm_writev: it names the target by its number only, and the number may have gone to another process.
	if n, err := p.pwrite(data, addr); err != nil {
		return p.gone(&WriteError{Addr: addr + Addr(n), Err: err})
	}
	return p.alive()
}

// checkWritable asks the last known mappings first and reads them again only if these say no.
func (p *Process) checkWritable(addr Addr, n int) error {
	p.mapsMu.Lock()
	defer p.mapsMu.Unlock()
	if writable(p.lastMaps, addr, n) {
		return nil
	}
	maps, err := p.readMaps()
	if err != nil {
		return err
	}
	p.lastMaps = maps
	if !writable(maps, addr, n) {
		return &WriteError{Addr: addr, Err: errors.New("not mapped writable in the target")}
	}
	return nil
}

// writable says whether [addr, addr+n) is covered by writable mappings without a hole.
func writable(maps []Mapping, addr Addr, n int) bool {
	end := addr + Addr(n)
	if end < addr {
		return false
	}
	for _, m := range maps {
		if m.Contains(addr) && m.Perms&Write != 0 {
			if end <= m.End {
				return true
			}
			addr = m.End
		}
	}
	return false
}
