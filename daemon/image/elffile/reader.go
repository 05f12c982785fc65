package elffile

import "bytes"

// A reader takes numbers from the front of bytes that nobody has checked. After the first read beyond the end, bad stays set
// and everything reads as 0.
type Reader struct {
	Rest []byte // what was not taken yet
	Addr uint64 // address of b[0], for pointers that are relative to their place
	Bad  bool   // something beyond the end was asked for
}

// Take takes the next n bytes.
func (r *Reader) Take(n int) []byte {
	if n < 0 || n > len(r.Rest) {
		r.Bad, r.Rest = true, nil
		return nil
	}
	b := r.Rest[:n]
	r.Rest, r.Addr = r.Rest[n:], r.Addr+uint64(n)
	return b
}

// Part splits off the next n bytes as a reader of their own.
func (r *Reader) Part(n uint64) *Reader {
	p := &Reader{Addr: r.Addr}
	p.Rest = r.Take(int(min(n, uint64(len(r.Rest)+1))))
	p.Bad = r.Bad
	return p
}

// Byte takes a byte.
func (r *Reader) Byte() byte {
	if b := r.Take(1); b != nil {
		return b[0]
	}
	return 0
}

// Uint takes a little-endian number of n bytes.
func (r *Reader) Uint(n int) uint64 {
	var v uint64
	for i, c := range r.Take(n) {
		v |= uint64(c) << (8 * i)
	}
	return v
}

// ULEB takes an unsigned number in LEB128.
func (r *Reader) ULEB() uint64 {
	var v uint64
	for shift := 0; ; shift += 7 {
		c := r.Byte()
		if shift < 64 {
			v |= uint64(c&0x7f) << shift
		}
		if c&0x80 == 0 || r.Bad {
			return v
		}
	}
}

// SLEB takes a signed number in LEB128.
func (r *Reader) SLEB() int64 {
	var v int64
	shift := 0
	for {
		c := r.Byte()
		if shift < 64 {
			v |= int64(c&0x7f) << shift
		}
		shift += 7
		if c&0x80 == 0 || r.Bad {
			if shift < 64 && c&0x40 != 0 {
				v |= -1 << shift
			}
			return v
		}
	}
}

// Text takes a string that ends with a zero; empty at the end of what there is.
func (r *Reader) Text() []byte {
	i := bytes.IndexByte(r.Rest, 0)
	if i < 0 {
		r.Bad = true
		return nil
	}
	s := r.Take(i)
	r.Take(1)
	return s
}
