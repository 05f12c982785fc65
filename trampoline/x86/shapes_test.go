package x86

import "testing"

// A shape is one instruction as it was found, standing for all with the same prefixes, opcode and ModRM.
type shape struct {
	code []byte
	in   Inst // decoded at address 0
}

// shapesOf returns the different shapes of a library that Relocate accepts, by class: plain, RIP-relative, branch.
func shapesOf(t *testing.T, names ...string) (out [3][]shape) {
	type key struct {
		p     Prefix
		op    uint16
		modrm byte
		n     int
	}
	seen := map[key]bool{}
	for _, name := range names {
		path := find(name)
		if path == "" {
			continue
		}
		for _, s := range textSections(t, path) {
			for off := 0; off < len(s.data); {
				in, err := Decode(s.data[off:], 0)
				if err != nil {
					off++ // data among the code
					continue
				}
				k := key{in.Prefix, in.Opcode, in.ModRM, in.Len}
				if code := s.data[off : off+in.Len]; !seen[k] && immovable(in) == "" {
					seen[k] = true
					out[classOf(in)] = append(out[classOf(in)], shape{code, in})
				}
				off += in.Len
			}
		}
	}
	return out
}

// classOf returns the class of a shape.
func classOf(in Inst) int {
	switch {
	case in.Flow != FlowNext:
		return 2
	case in.RIPOff != 0:
		return 1
	}
	return 0
}

// extraShapes are forms that libraries seldom hold.
var extraShapes = []string{"e310", "67e310", "e210", "e110", "e010", "e2fe", "7010", "eb80", "3e7410", "f2eb10", "ff2500000000", "f3c3", "c20800",
	"48ffe0", "f3a4", "f348a5", "f3aa", "f2ae", "f3a6", "48f73500000000", "0fb60500000000", "480fc10500000000", "f0480fb10d00000000",
	"c705000000 0001000000", "66c705000000000100", "c5fd6f0500000000", "c5f877", "c4e27d780500000000", "9c", "9d", "9e", "9f", "fc", "fd", "c9"}
