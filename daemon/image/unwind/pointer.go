package unwind

import "culprit/daemon/image/elffile"

// Pointer encodings of .eh_frame and .gcc_except_table (LSB Core, "DWARF Exception Header Encoding").
const (
	peOmit     = 0xff
	pePCRel    = 0x10
	peIndirect = 0x80
)

// pointer reads an encoded pointer. ok is false for encodings that need what a file does not know (text- or data-relative).
// An indirect pointer is given as the address of the word that holds it.
func pointer(r *elffile.Reader, enc byte) (v uint64, ok bool) {
	if enc == peOmit {
		return 0, true
	}
	at := r.Addr
	switch enc & 0x0f {
	case 0x00, 0x04, 0x0c:
		v = r.Uint(8)
	case 0x01:
		v = r.ULEB()
	case 0x02:
		v = r.Uint(2)
	case 0x03:
		v = r.Uint(4)
	case 0x09:
		v = uint64(r.SLEB())
	case 0x0a:
		v = uint64(int16(r.Uint(2)))
	case 0x0b:
		v = uint64(int32(r.Uint(4)))
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
	return v, !r.Bad
}
