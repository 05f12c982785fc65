package debuginfo

import (
	"debug/dwarf"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"culprit/daemon/image/elffile"
	"culprit/internal/testprog"
)

// readLines is what debug/dwarf makes of the line program of a unit.
func readLines(d *dwarf.Data, cu *dwarf.Entry) (*lineTable, error) {
	t := &lineTable{}
	r, err := d.LineReader(cu)
	if err != nil || r == nil {
		return t, err
	}
	numbers := map[string]int32{}
	var e dwarf.LineEntry
	for r.Next(&e) == nil {
		row := lineRow{addr: e.Address, line: int32(e.Line), end: e.EndSequence, stmt: e.IsStmt}
		if e.File == nil {
			row.end = true
		} else if n, ok := numbers[e.File.Name]; ok {
			row.file = n
		} else {
			row.file = int32(len(t.files))
			numbers[e.File.Name] = row.file
			t.files = append(t.files, e.File.Name)
		}
		t.rows = append(t.rows, row)
	}
	t.sort()
	return t, nil
}

// openUnits reads the units of a file, which is closed when the test ends; nil if it has none.
func openUnits(t *testing.T, path string) *Units {
	t.Helper()
	r, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	st, err := r.Stat()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elffile.Open(r, st.Size(), filepath.Base(path))
	if err != nil {
		t.Fatal(err)
	}
	return readUnits(f)
}

// TestLineProgramsAgree: line programs give the same rows as by debug/dwarf, of every unit of programs by several compilers and of the
// debug files that are installed.
func TestLineProgramsAgree(t *testing.T) {
	paths := []string{testprog.BuildSource(t, testprog.SwitchC, "-O2", "-g"), testprog.BuildSource(t, testprog.SwitchC, "-O2", "-gdwarf-4"), testprog.BuildSource(t, testprog.SwitchC, "-O1", "-gdwarf-3"), testprog.BuildSource(t, testprog.SwitchC, "-g", "-gz")}
	files, _ := filepath.Glob("/usr/lib/debug/.build-id/[0-3]*/*.debug")
	rows := 0
	for _, p := range append(paths, files[:min(len(files), 12)]...) {
		x := openUnits(t, p)
		if x == nil {
			continue
		}
		d := x.data()
		for i := range x.units {
			cu := x.units[i].Entry
			got := runLines(x.sections, cu)
			want, err := readLines(d, cu)
			if err != nil {
				t.Logf("%s: unit %d: debug/dwarf: %v", p, i, err)
				continue
			}
			rows += len(want.rows)
			if !slices.Equal(got.rows, want.rows) || strings.Join(got.files, "\n") != strings.Join(want.files, "\n") {
				for k := range min(len(got.rows), len(want.rows)) {
					if got.rows[k] != want.rows[k] {
						t.Logf("row %d: %+v, want %+v", k, got.rows[k], want.rows[k])
						break
					}
				}
				t.Fatalf("%s, unit %v: %d rows and %d files, want %d and %d\n%.300s\n%.300s", p, cu.Val(dwarf.AttrName), len(got.rows), len(got.files), len(want.rows), len(want.files), strings.Join(got.files, "\n"), strings.Join(want.files, "\n"))
			}
		}
	}
	if rows < 1000 {
		t.Errorf("only %d rows were compared", rows)
	}
	t.Logf("%d rows", rows)
}

// FuzzUnits feeds arbitrary bytes to what looks for units.
func FuzzUnits(f *testing.F) {
	f.Add([]byte{12, 0, 0, 0, 5, 0, 1, 8, 0, 0, 0, 0, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) { unitOffsets(b) })
}
