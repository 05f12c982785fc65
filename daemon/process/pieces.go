package process

import (
	"golang.org/x/sys/unix"
)

// A Piece is memory of the target that is read together with others.
type Piece struct {
	Addr Addr
	Buf  []byte // filled if Read
	Read bool   // all of it could be read
}

// mostPieces is how many pieces the kernel takes at a time (IOV_MAX of limits.h).
const mostPieces = 1024

// ReadPieces fills as many of the pieces as can be read, hundreds with one call of the kernel. That names the target by its number, which
// cannot go to another process while the target is stopped.
func (w *World) ReadPieces(pieces []Piece) error {
	if w.over {
		return ErrWorldOver
	}
	pid := w.s.p.pid
	local, remote := make([]unix.Iovec, 0, mostPieces), make([]unix.RemoteIovec, 0, mostPieces)
	for len(pieces) > 0 {
		local, remote = local[:0], remote[:0]
		n := min(len(pieces), mostPieces)
		for i := range pieces[:n] {
			p := &pieces[i]
			p.Read = false
			l := unix.Iovec{Len: uint64(len(p.Buf))}
			if len(p.Buf) > 0 {
				l.Base = &p.Buf[0]
			}
			local = append(local, l)
			remote = append(remote, unix.RemoteIovec{Base: uintptr(p.Addr), Len: len(p.Buf)})
		}
		got, err := unix.ProcessVMReadv(pid, local, remote, 0)
		if err != nil {
			got = 0
		}
		done := 0
		for done < n && got >= len(pieces[done].Buf) {
			got -= len(pieces[done].Buf)
			pieces[done].Read = true
			done++
		}
		if done < n { // the kernel stops at the first piece that is not mapped, or not readable for it
			p := &pieces[done]
			p.Read = w.s.p.readText(p.Addr, p.Buf) == nil
			done++
		}
		pieces = pieces[done:]
	}
	return nil
}
