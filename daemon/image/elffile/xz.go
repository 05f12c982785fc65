package elffile

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// The container format .xz (tukaani.org/xz/xz-file-format.txt), as far as xz(1) writes it by default. It is read here, and only what is in
// its blocks is left to the library: the library makes a dictionary as large as a block claims, 4 GiB if it likes. How much there is to be
// expanded stands in the headers of the chunks (LZMA2), so it is known before any memory is asked for.

var (
	errXZ     = errors.New("it is damaged, or not in the format of xz")
	errXZKind = errors.New("it was compressed with a filter that is not known here: only LZMA2 is")
)

// An xzBlock is a block of compressed chunks.
type xzBlock struct {
	chunks   []byte
	expanded uint64
	dict     uint64
	newSum   func() hash.Hash // nil: none that is known
	sum      []byte
}

// xzBlocks finds the blocks of the one stream in b, and how many bytes they expand to.
func xzBlocks(b []byte) (list []xzBlock, size uint64, err error) {
	r := Reader{Rest: b}
	if string(r.Take(6)) != "\xfd7zXZ\x00" {
		return nil, 0, errXZ
	}
	flags := r.Take(2)
	r.Take(4)
	if r.Bad || flags[0] != 0 || flags[1] > 15 {
		return nil, 0, errXZ
	}
	for {
		head := r.Byte()
		switch {
		case r.Bad:
			return nil, 0, errXZ
		case head == 0: // the index
			return list, size, nil
		}
		x, err := readXZBlock(&r, int(head), flags[1])
		if err != nil {
			return nil, 0, err
		}
		size += x.expanded
		list = append(list, x)
	}
}

// readXZBlock reads a block behind the first byte of its header.
func readXZBlock(r *Reader, head int, check byte) (x xzBlock, err error) {
	h := Reader{Rest: r.Take(head*4 - 1)}
	r.Take(4) // checksum of the header
	flags := h.Byte()
	if flags&0x40 != 0 {
		h.ULEB() // size of the chunks
	}
	if flags&0x80 != 0 {
		h.ULEB() // expanded size
	}
	if flags&3 != 0 || h.ULEB() != 0x21 || h.ULEB() != 1 {
		return x, errXZKind
	}
	props := h.Byte()
	if r.Bad || h.Bad || props > 40 {
		return x, errXZ
	}
	x.dict = uint64(2|props&1) << (props/2 + 11)
	if !x.readChunks(r) {
		return x, errXZ
	}
	r.Take(-len(x.chunks) & 3)
	var size int
	x.newSum, size = xzCheck(check)
	if x.sum = r.Take(size); r.Bad {
		return x, errXZ
	}
	return x, nil
}

// xzCheck is the checksum of a kind, and how many bytes it has.
func xzCheck(kind byte) (sum func() hash.Hash, size int) {
	switch kind {
	case 0:
		return nil, 0
	case 1:
		return func() hash.Hash { return crc32.NewIEEE() }, 4
	case 4:
		return func() hash.Hash { return crc64.New(crc64.MakeTable(crc64.ECMA)) }, 8
	case 10:
		return sha256.New, 32
	}
	return nil, 4 << ((kind - 1) / 3)
}

// readChunks passes over the chunks of a block, and adds up what they expand to.
func (x *xzBlock) readChunks(r *Reader) bool {
	begin := r.Rest
	for !r.Bad {
		control := uint64(r.Byte())
		switch {
		case control == 0 && !r.Bad:
			x.chunks = begin[:len(begin)-len(r.Rest)]
			return true
		case control == 1 || control == 2: // as it is
			n := bigEndian(r.Take(2)) + 1
			x.expanded += n
			r.Take(int(n))
		case control >= 0x80:
			x.expanded += (control&0x1f)<<16 + bigEndian(r.Take(2)) + 1
			n := bigEndian(r.Take(2)) + 1
			if control >= 0xc0 {
				r.Byte() // properties
			}
			r.Take(int(n))
		default:
			return false
		}
	}
	return false
}

func bigEndian(b []byte) (v uint64) {
	for _, c := range b {
		v = v<<8 | uint64(c)
	}
	return v
}

// expandXZ expands blocks to size bytes, and checks their sums.
func expandXZ(blocks []xzBlock, size uint64) ([]byte, error) {
	out := make([]byte, size)
	rest := out
	for _, x := range blocks {
		part := rest[:x.expanded]
		rest = rest[x.expanded:]
		r, err := lzma.Reader2Config{DictCap: int(max(min(x.dict, x.expanded), lzma.MinDictCap))}.NewReader2(bytes.NewReader(x.chunks))
		if err != nil {
			return nil, err
		}
		if _, err := io.ReadFull(r, part); err != nil {
			return nil, err
		}
		if x.newSum == nil {
			continue
		}
		sum := x.newSum()
		sum.Write(part)
		if !bytes.Equal(littleEndian(sum.Sum(nil)), x.sum) {
			return nil, errXZ
		}
	}
	return out, nil
}

// littleEndian turns what Go gives as big-endian around; digests of bytes stay as they are.
func littleEndian(sum []byte) []byte {
	if len(sum) > 8 {
		return sum
	}
	for i, j := 0, len(sum)-1; i < j; i, j = i+1, j-1 {
		sum[i], sum[j] = sum[j], sum[i]
	}
	return sum
}
