package image

import (
	"debug/dwarf"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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

// TestLineProgramsAgree: line programs give the same rows as by debug/dwarf, of every unit of programs by several compilers and of the
// debug files that are installed.
func TestLineProgramsAgree(t *testing.T) {
	paths := []string{build(t, switchC, "-O2", "-g"), build(t, switchC, "-O2", "-gdwarf-4"), build(t, switchC, "-O1", "-gdwarf-3"), build(t, switchC, "-g", "-gz")}
	files, _ := filepath.Glob("/usr/lib/debug/.build-id/[0-3]*/*.debug")
	rows := 0
	for _, p := range append(paths, files[:min(len(files), 12)]...) {
		o := openFile(t, p, filepath.Base(p))
		x := o.readUnits()
		if x == nil {
			continue
		}
		d := x.data()
		for i := range x.units {
			cu := x.units[i].entry
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
