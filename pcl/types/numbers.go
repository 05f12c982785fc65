package types

// Types of numbers: what DWARF says of arguments and results, and what a cast says. A register has 64 bits. A function that returns an
// int leaves anything in the upper half, so -1 is 4294967295 there.

// A Scalar is a type of whole numbers.
type Scalar struct {
	Size   uint8 // in bytes
	Signed bool
	Truth  bool // bool: 0 or 1
}

// Of is a constant as a number of the type.
func (t Scalar) Of(n int64) int64 {
	switch {
	case t.Truth && n != 0:
		return 1
	case t.Truth:
		return 0
	case t.Size == 1 && t.Signed:
		return int64(int8(n))
	case t.Size == 1:
		return int64(uint8(n))
	case t.Size == 2 && t.Signed:
		return int64(int16(n))
	case t.Size == 2:
		return int64(uint16(n))
	case t.Size == 4 && t.Signed:
		return int64(int32(n))
	case t.Size == 4:
		return int64(uint32(n))
	}
	return n
}

var truthValue = Scalar{Size: 1, Truth: true}

func signed(size uint8) Scalar { return Scalar{Size: size, Signed: true} }

// Unsigned is the type of numbers of that many bytes that have no sign.
func Unsigned(size uint8) Scalar { return Scalar{Size: size} }

// CastTypes are the types of casts by their names; words that C lets stand in any order stand in the usual one.
var CastTypes = map[string]Scalar{
	"bool": truthValue, "_Bool": truthValue,
	"char": signed(1), "signed char": signed(1), "unsigned char": Unsigned(1), "int8_t": signed(1), "uint8_t": Unsigned(1),
	"short": signed(2), "short int": signed(2), "unsigned short": Unsigned(2), "unsigned short int": Unsigned(2), "int16_t": signed(2), "uint16_t": Unsigned(2),
	"int": signed(4), "signed": signed(4), "signed int": signed(4), "unsigned": Unsigned(4), "unsigned int": Unsigned(4), "int32_t": signed(4), "uint32_t": Unsigned(4),
	"long": signed(8), "long int": signed(8), "long long": signed(8), "long long int": signed(8), "int64_t": signed(8), "ssize_t": signed(8), "intptr_t": signed(8),
	"unsigned long": Unsigned(8), "unsigned long int": Unsigned(8), "unsigned long long": Unsigned(8), "unsigned long long int": Unsigned(8), "uint64_t": Unsigned(8),
	"size_t": Unsigned(8), "uintptr_t": Unsigned(8),
}
