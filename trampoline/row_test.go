package trampoline

import (
	"encoding/binary"
	"fmt"
	"testing"

	"culprit/trampoline/planner"
)

// rowTimerCells are the cells of timers that read rows: two of running time, two of a word.
var rowTimerCells = [...]int32{352, 352 + RunTimerSize, 352 + 2*RunTimerSize, 352 + 2*RunTimerSize + TimerSize}

// rowInBlock is where in the block of a test its row begins: so that the row's own words lie behind the cells, and its sums are cells.
const rowInBlock = 496 - RowSince

func rowTimerCell(op Op, i int) int32 {
	if op.Run() {
		return rowTimerCells[i]
	}
	return rowTimerCells[2+i]
}

// rowTimer is what timers by rows do.
func (m *model) rowTimer(p *Mini, active uint64) {
	kind := p.Op - RunEnter
	if p.Op.row() {
		kind = p.Op - RowEnter
	}
	acts := [...]bool{active <= m.sp, m.ends(p, active), active == 0, active != 0}[kind]
	switch {
	case !acts:
	case m.word(BlockRow) == 0 && kind%2 == 0:
		m.noteRow("no row")
	case kind == 0:
		m.startRow(p, m.sp)
	case kind == 2:
		m.startRow(p, 1)
	default:
		m.stopRow(p)
	}
}

func (m *model) noteRow(what string) {
	if m.did != nil {
		m.did[what]++
	}
}

// rowWord is where in the timer's cell what the row said at the start stands, and where its sum.
func rowWord(p *Mini) (start, sum int32) {
	if p.Op.Run() {
		return p.Cell + TimerOff, p.Cell + TimerOffSum
	}
	return p.Cell + TimerStart, p.Cell + TimerSum
}

// rowSays is what the row says of a timer: its word, and the last wait if the row does not know that it is over.
func (m *model) rowSays(p *Mini) uint64 {
	v, since, woken := m.word(rowInBlock+p.Row), m.word(rowInBlock+RowSince), m.word(rowInBlock+RowWoken)
	switch {
	case !p.Op.Run() || since == 0:
	case woken >= since:
		v += woken - since
		m.noteRow("last wait made up for")
	default:
		m.noteRow("last wait not known")
	}
	return v
}

func (m *model) startRow(p *Mini, by uint64) {
	start, _ := rowWord(p)
	m.set(p.Cell+TimerActive, by)
	m.set(start, m.rowSays(p))
	m.noteRow("row read at the start")
}

func (m *model) stopRow(p *Mini) {
	start, sum := rowWord(p)
	grown := m.rowSays(p) - m.word(start)
	m.set(p.Cell+TimerActive, 0)
	m.set(sum, m.word(sum)+grown)
	m.noteRow("row read at the end")
	if grown != 0 {
		m.noteRow("row grown meanwhile")
	}
	m.stops[p.Cell]++
	switch {
	case p.Buckets == 0:
	case p.Op.Run():
		m.timed[p.Cell]++
	default:
		m.count(grown)
	}
}

// compareRowTimers holds what comes from rows against the model, exactly, and what comes from the time-stamp counter as far as it
// is known.
func (m *model) compareRowTimers(got []byte) error {
	for i, c := range rowTimerCells {
		run := i < 2
		for _, w := range []int32{TimerActive, TimerStart, TimerSum, TimerOff, TimerOffSum} {
			if run == (w == TimerStart || w == TimerSum) {
				continue
			}
			if g, want := binary.LittleEndian.Uint64(got[c+w:]), m.word(c+w); g != want {
				return fmt.Errorf("word %d of row timer %d is %#x, the interpreter says %#x", w, i, g, want)
			}
		}
		if run && m.stops[c] == 1 && m.timed[c] == 1 {
			cycles, off := binary.LittleEndian.Uint64(got[c+TimerSum:]), binary.LittleEndian.Uint64(got[c+TimerOffSum:])
			m.count(cycles*uint64(nativeEnv().Scale)>>scaleBits - off)
			delete(m.timed, c)
		}
	}
	return nil
}

// TestRowOfClaimedBlock: the stub that claims a block notes the thread's row, wherever in its stretch of the table it lies, and 0
// where the table has none.
func TestRowOfClaimedBlock(t *testing.T) {
	const rowsAt = dataAt + PageSize + 8*blockSize // the overflow block's place serves as the table: 8 rows of 256 bytes
	r := startRunner(t)
	home := nativeGeometry.Slot(r.self)
	for row := -1; row < nativeGeometry.Slots; row++ {
		for _, mapped := range []bool{true, false} {
			text, data := rowSample(t), make([]byte, dataSize)
			if mapped {
				binary.LittleEndian.PutUint64(text[slowAt-textAt+SlowRowsOff:], rowsAt)
			}
			for i := range nativeGeometry.Slots {
				binary.LittleEndian.PutUint64(data[rowsAt-dataAt+RowSize*i:], 0x7000+uint64(i))
			}
			want := uint64(0)
			if row >= 0 {
				at := (home + row) % nativeGeometry.Slots
				binary.LittleEndian.PutUint64(data[rowsAt-dataAt+RowSize*at:], r.self)
				if mapped {
					want = RowWord(at)
				}
			}
			binary.LittleEndian.PutUint64(block(data, home)[BlockRow:], 0x1234) // of an earlier owner
			_, after := r.run(t, funcAt, registers{}, text, data)
			b := block(after, home)
			if got := binary.LittleEndian.Uint64(b[BlockRow:]); got != want || binary.LittleEndian.Uint64(b) != r.self {
				t.Errorf("row %d places behind the first, table mapped %v: the block has %#x, want %#x", row, mapped, got, want)
			}
		}
	}
}

// rowSample is the runner's text with a function that counts its calls.
func rowSample(t *testing.T) []byte {
	s := &sample{code: []byte{0x48, 0x81, 0xC7, 1, 2, 3, 4, 0xC3}, points: []planner.Point{{Kind: planner.FuncEntry, Addr: funcAt}}}
	s.insts = decodeAll(s.code, funcAt)
	text := s.text(t, true)
	add := map[planner.Point][]Group{{Kind: planner.FuncEntry, Addr: funcAt}: {{Owner: 1, Minis: []Mini{{Op: Add, Cell: wordCell(0), Expr: &Expr{Value: 1}}}}}}
	patch(t, planner.MakePlan(s.body(), s.points), add, text)
	return text
}
