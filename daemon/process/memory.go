package process

import (
	"errors"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	"culprit/daemon/process/remote"
)

// ReadMem fills buf from the target's memory at addr, or fails: there are no short reads. No thread is stopped, so the bytes may be
// changing while they are read.
func (p *Process) ReadMem(addr raw.Addr, buf []byte) error {
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

// ReadSome fills buf from the target's memory at addr as far as that is mapped, and gives the number of bytes.
func (p *Process) ReadSome(addr raw.Addr, buf []byte) int {
	release, err := p.use()
	if err != nil {
		return 0
	}
	defer release()
	n, _ := p.mem.Pread(buf, addr) // what cannot be read is not mapped
	return n
}

func (p *Process) readMem(addr raw.Addr, buf []byte) error {
	if len(buf) == 0 {
		return nil
	}
	local := []unix.Iovec{{Base: &buf[0], Len: uint64(len(buf))}}
	remote := []unix.RemoteIovec{{Base: uintptr(addr), Len: len(buf)}}
	if n, err := unix.ProcessVMReadv(p.pid, local, remote, 0); err == nil && n == len(buf) {
		return nil
	}
	return p.mem.Read(addr, buf)
}

// WriteData writes data to writable memory of the running target. It refuses memory that is not mapped writable: text is written
// with World.WriteText while the world is stopped. Not atomic.
func (p *Process) WriteData(addr raw.Addr, data []byte) error {
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
	if n, err := p.mem.Pwrite(data, addr); err != nil {
		return p.gone(&raw.WriteError{Addr: addr + raw.Addr(n), Err: err})
	}
	return p.alive()
}

// checkWritable asks the last known mappings first and reads them again only if these say no.
func (p *Process) checkWritable(addr raw.Addr, n int) error {
	p.mapsMu.Lock()
	defer p.mapsMu.Unlock()
	if raw.Writable(p.lastMaps, addr, n) {
		return nil
	}
	maps, err := raw.ReadMaps(p.pid)
	if err != nil {
		return err
	}
	p.lastMaps = maps
	if !raw.Writable(maps, addr, n) {
		return &raw.WriteError{Addr: addr, Err: errors.New("not mapped writable in the target")}
	}
	return nil
}

// Maps lists the mappings of the target in order of address.
func (p *Process) Maps() ([]raw.Mapping, error) {
	release, err := p.use()
	if err != nil {
		return nil, err
	}
	defer release()
	maps, err := raw.ReadMaps(p.pid)
	if err != nil {
		return nil, p.gone(err)
	}
	return maps, p.alive()
}

// CodeOf are those among mappings in which code of the process may run.
func CodeOf(maps []raw.Mapping) []raw.Mapping { return raw.CodeOf(maps) }

// What a culprit that was killed may have left in a target.

// Leftovers are the mappings that tracers which were killed have left: harmless, but ours.
func Leftovers(maps []raw.Mapping) (left []raw.Mapping) { return remote.Leftovers(maps) }

// PassingSockets are the descriptors, among those that the target has open, of sockets that a culprit has left there which was killed
// while it passed a descriptor.
func (p *Process) PassingSockets(open map[int]string) (fds []int) {
	maps, _ := p.Maps() // without them what has names is found
	return remote.PassingSockets(p.pid, &p.mem, maps, open)
}
