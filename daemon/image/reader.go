package image

// A reader takes numbers from the front of bytes that nobody has checked. After the first read beyond the end, bad stays set
// and everything reads as 0.
type reader struct {
	b    []byte
	addr uint64 // address of b[0], for pc-relative pointers
	bad  bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.bad, r.b = true, nil
		return nil
	}
	b := r.b[:n]
	r.b, r.addr = r.b[n:], r.addr+uint64(n)
	return b
}

// part splits off the next n bytes as a reader of their own.
func (r *reader) part(n uint64) *reader {
	p := &reader{addr: r.addr}
	p.b = r.take(int(min(n, uint64(len(r.b)+1))))
	p.bad = r.bad
	return p
}

func (r *reader) u8() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint(n int) uint64 {
	var v uint64
	for i, c := range r.take(n) {
		v |= uint64(c) << (8 * i)
	}
	return v
}

func (r *reader) uleb() uint64 {
	var v uint64
	for shift := 0; ; shift += 7 {
		c := r.u8()
		if shift < 64 {
			v |= uint64(c&0x7f) << shift
		}
		if c&0x80 == 0 || r.bad {
			return v
		}
	}
}

func (r *reader) sleb() int64 {
	var v int64
	shift := 0
	for {
		c := r.u8()
		if shift < 64 {
			v |= int64(c&0x7f) << shift
		}
		shift += 7
		if c&0x80 == 0 || r.bad {
			if shift < 64 && c&0x40 != 0 {
				v |= -1 << shift
			}
			return v
		}
	}
}

func (r *reader) cstring() string {
	for i, c := range r.b {
		if c == 0 {
			s := string(r.b[:i])
			r.take(i + 1)
			return s
		}
	}
	r.bad = true
	return ""
}

// Pointer encodings of .eh_frame and .gcc_except_table (LSB Core, "DWARF Exception Header Encoding").
const (
	peOmit     = 0xff
	pePCRel    = 0x10
	peIndirect = 0x80
)

// pointer reads an encoded pointer. ok is false for encodings that need what a file does not know (text- or data-relative).
// An indirect pointer is given as the address of the word that holds it.
func (r *reader) pointer(enc byte) (v uint64, ok bool) {
	if enc == peOmit {
		return 0, true
	}
	at := r.addr
	switch enc & 0x0f {
	case 0x00, 0x04, 0x0c:
		v = r.uint(8)
	case 0x01:
		v = r.uleb()
	case 0x02:
		v = r.uint(2)
	case 0x03:
		v = r.uint(4)
	case 0x09:
		v = uint64(r.sleb())
	case 0x0a:
		v = uint64(int16(r.uint(2)))
	case 0x0b:
		v = uint64(int32(r.uint(4)))
	default:
		return 0, false
	}
	switch enc & 0x70 {
	case 0:
	case pePCRel:
		if v != 0 {
			v += at
		}
	default:
		return 0, false
	}
	return v, !r.bad
}
