package x86

import (
	"fmt"
	"strconv"
	"strings"
)

// A formKind says what follows the opcode byte.
type formKind uint8

const (
	formNone  formKind = iota // no such opcode
	formPlain                 // no ModRM
	formModRM                 // ModRM, SIB, displacement
	formCtl                   // ModRM whose mod is ignored
)

// An immKind says what follows ModRM; the letters are those of the table text.
type immKind uint8

const (
	immNone   immKind = iota
	imm8              // b
	imm16             // w
	imm32             // d
	imm8and8          // bb
	immZ              // z
	immV              // v
	immMoffs          // o
	immEnter          // e
	immRel8           // i
	immRelZ           // j
	immTest8          // t
	immTestZ          // T
	immXbegin         // x
)

var immOf = map[string]immKind{"": immNone, "b": imm8, "w": imm16, "d": imm32, "bb": imm8and8, "z": immZ, "v": immV,
	"o": immMoffs, "e": immEnter, "i": immRel8, "j": immRelZ, "t": immTest8, "T": immTestZ, "x": immXbegin}

// An entry describes one opcode under one mandatory prefix. The zero entry is an unknown opcode.
type entry struct {
	form formKind
	imm  immKind
	mem  uint8 // bit n: a memory operand with ModRM.reg = n is allowed
	reg  uint8 // index into regMasks of the allowed register forms
}

// An opTable is one opcode map: by opcode byte, then by mandatory prefix.
type opTable [256][4]entry

// regMasks are the sets of ModRM bytes C0..FF that some entry allows; index 0 allows none.
var regMasks = []uint64{0}

// tables has an opTable for every known value of the high byte of Inst.Opcode. It is not written after the start.
var tables = [256]*opTable{
	mapLegacy:   buildTable(textLegacy),
	map0F:       buildTable(text0F),
	map0F38:     buildTable(text0F38),
	map0F3A:     buildTable(text0F3A),
	mapVEX | 1:  buildTable(textVEX1),
	mapVEX | 2:  buildTable(textVEX2),
	mapVEX | 3:  buildTable(textVEX3),
	mapEVEX | 1: buildTable(textEVEX1),
	mapEVEX | 2: buildTable(textEVEX2),
	mapEVEX | 3: buildTable(textEVEX3),
	mapEVEX | 5: buildTable(textEVEX5),
	mapEVEX | 6: buildTable(textEVEX6),
	mapXOP | 8:  buildTable(textXOP8),
	mapXOP | 9:  buildTable(textXOP9),
	mapXOP | 10: buildTable(textXOPA),
}

// buildTable reads a table text. It is ours, so a fault in it is a bug of this package.
func buildTable(text string) *opTable {
	t := new(opTable)
	for row := range strings.Lines(text) {
		row, _, _ = strings.Cut(row, ";")
		f := strings.Fields(row)
		if len(f) == 0 {
			continue
		}
		if len(f) < 3 {
			panic("BUG: short line in opcode table: " + row)
		}
		e := parseEntry(f[1], f[3:])
		for _, span := range strings.Split(f[0], ",") {
			t.fill(span, f[2], e)
		}
	}
	return t
}

// fill puts e at the opcodes of span ("70-7F") under the prefixes pps.
func (t *opTable) fill(span, pps string, e entry) {
	first, last, ok := strings.Cut(span, "-")
	if !ok {
		last = first
	}
	if pps == "*" {
		pps = "0123"
	}
	for op := parseHex(first); op <= parseHex(last); op++ {
		for _, pp := range pps {
			slot := &t[op][pp-'0']
			if slot.form != formNone {
				panic(fmt.Sprintf("BUG: opcode %02X twice in a table", op))
			}
			*slot = e
		}
	}
}

// parseEntry reads the form column and the restrictions behind it.
func parseEntry(form string, more []string) entry {
	imm, ok := immOf[form[1:]]
	if !ok {
		panic("BUG: immediate in opcode table: " + form)
	}
	e := entry{form: formModRM, imm: imm}
	reg := ^uint64(0)
	switch form[0] {
	case 'n':
		e.form, reg = formPlain, 0
	case 'm':
		e.mem = 0xFF
	case 'M':
		e.mem, reg = 0xFF, 0
	case 'R':
	case 'r':
		e.form = formCtl
	default:
		panic("BUG: form in opcode table: " + form)
	}
	for _, m := range more {
		switch key, v, _ := strings.Cut(m, "="); key {
		case "mem":
			e.mem = uint8(parseHex(v))
		case "reg":
			reg = parseRegs(v)
		default:
			panic("BUG: restriction in opcode table: " + m)
		}
	}
	e.reg = regIndex(reg)
	return e
}

// parseRegs reads a reg= value: two digits for eight ModRM.reg values, or sixteen for the 64 register forms.
func parseRegs(v string) uint64 {
	x := parseHex(v)
	if len(v) > 2 {
		return x
	}
	var m uint64
	for r := range 8 {
		if x>>r&1 != 0 {
			m |= 0xFF << (8 * r)
		}
	}
	return m
}

// regIndex returns the index of m in regMasks, and adds it if it is new.
func regIndex(m uint64) uint8 {
	for i, have := range regMasks {
		if have == m {
			return uint8(i)
		}
	}
	if len(regMasks) == 256 {
		panic("BUG: too many register masks")
	}
	regMasks = append(regMasks, m)
	return uint8(len(regMasks) - 1)
}

// parseHex reads a hexadecimal number of the table text.
func parseHex(s string) uint64 {
	x, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		panic("BUG: number in opcode table: " + s)
	}
	return x
}
