package wire

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/fxamacker/cbor/v2"
)

// MaxFrame is how many bytes a message may have.
const MaxFrame = 16 << 20

// lengthSize is that of the length in front of a frame, big endian.
const lengthSize = 4

// An ErrFrame says that what came is no message.
type ErrFrame struct{ Why string }

// Error says why.
func (e ErrFrame) Error() string { return "not a message: " + e.Why }

var (
	encoding = must(cbor.EncOptions{}.EncMode())
	decoding = must(cbor.DecOptions{DupMapKey: cbor.DupMapKeyEnforcedAPF, MaxNestedLevels: 16, MaxArrayElements: 1 << 20, MaxMapPairs: 1 << 16,
		IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden}.DecMode())
)

func must[T any](v T, err error) T {
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return v
}

// Encode makes the frame of a message: its length and its CBOR. The error is ErrFrame for one that is too long.
func Encode(message any) ([]byte, error) {
	body, err := encoding.Marshal(message)
	if err != nil {
		panic("BUG: a message that cannot be encoded: " + err.Error())
	}
	if len(body) > MaxFrame {
		return nil, ErrFrame{fmt.Sprintf("%d bytes, and at most %d are allowed", len(body), MaxFrame)}
	}
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, lengthSize+len(body)), uint32(len(body))), body...), nil
}

// A Reader reads messages from a stream.
type Reader struct{ r *bufio.Reader }

// NewReader reads from r.
func NewReader(r io.Reader) *Reader { return &Reader{bufio.NewReader(r)} }

// Read takes the next message. The error is io.EOF at the end of the stream, ErrFrame for what is no message, or that of the stream:
// io.ErrUnexpectedEOF if it ends inside a message.
func (r *Reader) Read(message any) error {
	var length [lengthSize]byte
	if _, err := io.ReadFull(r.r, length[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > MaxFrame {
		return ErrFrame{fmt.Sprintf("%d bytes, and at most %d are allowed", n, MaxFrame)}
	}
	body, err := io.ReadAll(io.LimitReader(r.r, int64(n))) // grows with what comes, not with what is said to come
	if err != nil {
		return err
	}
	if len(body) < int(n) {
		return io.ErrUnexpectedEOF
	}
	if err := decoding.Unmarshal(body, message); err != nil {
		return ErrFrame{err.Error()}
	}
	return nil
}

// DigestOf is the digest of a library.
func DigestOf(texts []Text) []byte {
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%d %d ", len(t.Name), len(t.Text))
		io.WriteString(h, t.Name) // a hash takes everything
		io.WriteString(h, t.Text)
	}
	return h.Sum(nil)
}

// FrameLength is how long the frame is that bytes begin with; false if there are too few to tell.
func FrameLength(b []byte) (n int, ok bool) {
	if len(b) < lengthSize {
		return 0, false
	}
	return lengthSize + int(binary.BigEndian.Uint32(b)), true
}
