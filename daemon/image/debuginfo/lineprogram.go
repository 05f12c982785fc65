package debuginfo

import (
	"bytes"
	"debug/dwarf"
	"path"

	"culprit/daemon/image/elffile"
)

// Line programs are run here and not by debug/dwarf: that believes the numbers of directories and files, and makes the name of every file
// with its directory before anybody asks for one.

// Bounds of one line program.
const (
	maxLineFiles = 1 << 16 // directories, and files
	maxLineNames = 8 << 20 // bytes of the names of files that have code
)

// Operations of line programs (DWARF 5, section 6.2.5).
const (
	lnsCopy         = 1
	lnsAdvancePC    = 2
	lnsAdvanceLine  = 3
	lnsSetFile      = 4
	lnsNegateStmt   = 6
	lnsConstAddPC   = 8
	lnsFixedAdvance = 9
	lneEndSequence  = 1
	lneSetAddress   = 2
	lneDefineFile   = 3
)

// Contents and forms of the entries of the tables of directories and files (DWARF 5, sections 6.2.4.1 and 7.5.6).
const (
	lnctPath      = 1
	lnctDirectory = 2

	formBlock   = 0x09
	formString  = 0x08
	formStrp    = 0x0e
	formLineStr = 0x1f
	formData1   = 0x0b
	formData2   = 0x05
	formData4   = 0x06
	formData8   = 0x07
	formData16  = 0x1e
	formUdata   = 0x0f
)

// A sourceFile is a name in a line program and the number of its directory.
type sourceFile struct {
	name []byte
	dir  uint64
}

// noDirectory is the number of the directory of a file that names none.
const noDirectory = ^uint64(0)

// A lineProgram is a line program that is being run.
type lineProgram struct {
	sections map[string][]byte
	unitDir  string
	t        *lineTable

	r                     elffile.Reader // first the header, then the operations
	version               uint16
	offset                int // size of offsets: 4 or 8
	minInst               uint64
	stmt                  bool
	lineBase              int64
	lineRange, opcodeBase byte
	lengths               []byte
	dirs                  [][]byte
	files                 []sourceFile
	numbers               map[uint64]int32 // in t.files, by number in the program
	names                 map[string]int32
	nameBytes             int
	addr, file            uint64
	line                  int64
	isStmt                bool
}

// runLines runs the line program of a unit. A damaged one gives the rows before the damage.
func runLines(sections map[string][]byte, cu *dwarf.Entry) *lineTable {
	p := &lineProgram{sections: sections, t: &lineTable{}, numbers: map[uint64]int32{}, names: map[string]int32{}}
	p.unitDir, _ = cu.Val(dwarf.AttrCompDir).(string)
	p.unitDir = elffile.ValidText(p.unitDir)
	off, ok := cu.Val(dwarf.AttrStmtList).(int64)
	if !ok || off < 0 || off > int64(len(sections[".debug_line"])) {
		return p.t
	}
	p.r = elffile.Reader{Rest: sections[".debug_line"][off:]}
	if p.header() {
		p.reset()
		for len(p.r.Rest) > 0 && !p.r.Bad && len(p.t.rows) < maxUnitRows {
			p.step()
		}
	}
	p.t.sort()
	return p.t
}

// header reads what stands before the operations; false if it makes no sense.
func (p *lineProgram) header() bool {
	n := p.r.Uint(4)
	p.offset = 4
	if n == 0xffffffff {
		n, p.offset = p.r.Uint(8), 8
	}
	if n > uint64(len(p.r.Rest)) {
		return false
	}
	p.r = *p.r.Part(n)
	if p.version = uint16(p.r.Uint(2)); p.version < 2 || p.version > 5 {
		return false
	}
	if p.version == 5 && (p.r.Byte() != 8 || p.r.Byte() != 0) { // sizes of addresses and of segment selectors
		return false
	}
	head := p.r.Uint(p.offset)
	if head > uint64(len(p.r.Rest)) {
		return false
	}
	h := p.r.Part(head)
	p.minInst = uint64(h.Byte())
	if p.version >= 4 && h.Byte() != 1 { // several operations in an instruction: not on x86-64
		return false
	}
	p.stmt, p.lineBase, p.lineRange, p.opcodeBase = h.Byte() != 0, int64(int8(h.Byte())), h.Byte(), h.Byte()
	if p.lineRange == 0 || p.opcodeBase == 0 {
		return false
	}
	p.lengths = h.Take(int(p.opcodeBase) - 1)
	if p.version == 5 {
		return p.tables(h)
	}
	p.oldTables(h)
	return !h.Bad
}

// oldTables reads the names of directories and files up to DWARF 4. Number 0 of each is the unit's own, which no row names.
func (p *lineProgram) oldTables(h *elffile.Reader) {
	p.dirs, p.files = [][]byte{nil}, []sourceFile{{}}
	for len(p.dirs) < maxLineFiles {
		d := h.Text()
		if len(d) == 0 {
			break
		}
		p.dirs = append(p.dirs, d)
	}
	for len(p.files) < maxLineFiles && p.oldFile(h) {
	}
}

// oldFile reads one file; false at the end of the table.
func (p *lineProgram) oldFile(h *elffile.Reader) bool {
	name := h.Text()
	if len(name) == 0 {
		return false
	}
	p.files = append(p.files, sourceFile{name, h.ULEB()})
	h.ULEB() // time
	h.ULEB() // size
	return !h.Bad
}

// tables reads the names of directories and files of DWARF 5.
func (p *lineProgram) tables(h *elffile.Reader) bool {
	dirs, ok := p.table(h)
	if !ok {
		return false
	}
	for _, d := range dirs {
		p.dirs = append(p.dirs, d.name)
	}
	p.files, ok = p.table(h)
	return ok
}

// table reads the entries of one table, which say themselves what they are made of.
func (p *lineProgram) table(h *elffile.Reader) (list []sourceFile, ok bool) {
	parts := make([][2]uint64, h.Byte())
	for i := range parts {
		parts[i] = [2]uint64{h.ULEB(), h.ULEB()}
	}
	n := h.ULEB()
	if h.Bad || n > maxLineFiles {
		return nil, false
	}
	for range n {
		f := sourceFile{dir: noDirectory}
		for _, part := range parts {
			text, v, ok := p.form(h, part[1])
			switch {
			case !ok:
				return nil, false
			case part[0] == lnctPath:
				f.name = text
			case part[0] == lnctDirectory:
				f.dir = v
			}
		}
		list = append(list, f)
	}
	return list, !h.Bad
}

// form reads one value.
func (p *lineProgram) form(h *elffile.Reader, form uint64) (text []byte, v uint64, ok bool) {
	switch form {
	case formString:
		text = h.Text()
	case formStrp:
		text = textAt(p.sections[".debug_str"], h.Uint(p.offset))
	case formLineStr:
		text = textAt(p.sections[".debug_line_str"], h.Uint(p.offset))
	case formData1:
		v = h.Uint(1)
	case formData2:
		v = h.Uint(2)
	case formData4:
		v = h.Uint(4)
	case formData8:
		v = h.Uint(8)
	case formUdata:
		v = h.ULEB()
	case formData16:
		h.Take(16)
	case formBlock:
		h.Part(h.ULEB())
	default:
		return nil, 0, false
	}
	return text, v, !h.Bad
}

// textAt is the string at an offset of a section, cut at maxName.
func textAt(b []byte, off uint64) []byte {
	if off >= uint64(len(b)) {
		return nil
	}
	b = b[off:min(off+elffile.MaxName, uint64(len(b)))]
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return b
}

func (p *lineProgram) reset() {
	p.addr, p.file, p.line, p.isStmt = 0, 1, 1, p.stmt
}

// step runs one operation.
func (p *lineProgram) step() {
	r := &p.r
	op := r.Byte()
	if op >= p.opcodeBase {
		n := op - p.opcodeBase
		p.addr += uint64(n/p.lineRange) * p.minInst
		p.line += p.lineBase + int64(n%p.lineRange)
		p.emit(false)
		return
	}
	switch op {
	case 0:
		p.extended(r.Part(r.ULEB()))
	case lnsCopy:
		p.emit(false)
	case lnsAdvancePC:
		p.addr += r.ULEB() * p.minInst
	case lnsAdvanceLine:
		p.line += r.SLEB()
	case lnsSetFile:
		p.file = r.ULEB()
	case lnsNegateStmt:
		p.isStmt = !p.isStmt
	case lnsConstAddPC:
		p.addr += uint64((255-p.opcodeBase)/p.lineRange) * p.minInst
	case lnsFixedAdvance:
		p.addr += r.Uint(2)
	default:
		for range p.lengths[op-1] {
			r.ULEB()
		}
	}
}

func (p *lineProgram) extended(r *elffile.Reader) {
	switch r.Byte() {
	case lneEndSequence:
		p.emit(true)
		p.reset()
	case lneSetAddress:
		p.addr = r.Uint(8)
	case lneDefineFile:
		if len(p.files) < maxLineFiles {
			p.oldFile(r)
		}
	}
}

// emit adds a row.
func (p *lineProgram) emit(end bool) {
	row := lineRow{addr: p.addr, line: int32(p.line), end: end, stmt: p.isStmt}
	n, ok := p.numbers[p.file]
	if !ok {
		n = p.number(p.file)
		p.numbers[p.file] = n
	}
	if n < 0 {
		row.end = true
	} else {
		row.file = n
	}
	p.t.rows = append(p.t.rows, row)
}

// number is that of a file in the table, with its name made when it is first needed; -1 if the program does not name it.
func (p *lineProgram) number(file uint64) int32 {
	if file >= uint64(len(p.files)) || p.version < 5 && file == 0 || len(p.numbers) >= maxLineFiles || p.nameBytes > maxLineNames {
		return -1
	}
	name := elffile.ValidText(p.path(p.files[file]))
	p.nameBytes += len(name)
	n, ok := p.names[name]
	if !ok {
		n = int32(len(p.t.files))
		p.names[name], p.t.files = n, append(p.t.files, name)
	}
	return n
}

// path is the path of a file as the compiler was given it, below the directory of its unit before DWARF 5 (whose first directory is that).
func (p *lineProgram) path(f sourceFile) string {
	name := string(f.name[:min(len(f.name), elffile.MaxName)])
	if p.version < 5 && path.IsAbs(name) {
		return name
	}
	dir := ""
	if f.dir < uint64(len(p.dirs)) {
		dir = string(p.dirs[f.dir][:min(len(p.dirs[f.dir]), elffile.MaxName)])
	}
	if p.version < 5 && !path.IsAbs(dir) && p.unitDir != "" {
		dir = path.Join(p.unitDir, dir)
	}
	if dir == "" || name == "" {
		return name
	}
	return path.Join(dir, name)
}
