package elffile

import (
	"os"
	"syscall"
)

// DebugRoot is where distributions put separate debug files, by build-id (gdb manual, "Separate Debug Files").
// It is a variable for the tests.
var DebugRoot = "/usr/lib/debug/.build-id"

// DebugFile finds the separate debug file of a stripped object by its build-id; nil if there is none that fits.
// The path is made of hexadecimal digits only, so nothing in the file can lead it elsewhere.
func (f *File) DebugFile() *File {
	d, _ := f.debug.Get(f.name, func() (*File, error) {
		id := f.buildID
		if len(id) < 4 {
			return nil, nil
		}
		opened, err := os.OpenFile(DebugRoot+"/"+id[:2]+"/"+id[2:]+".debug", os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return nil, err
		}
		st, err := opened.Stat()
		if err != nil || !st.Mode().IsRegular() {
			opened.Close()
			return nil, err
		}
		d, err := openFile(opened, st.Size(), f.name, false)
		if err != nil || d.buildID != id {
			opened.Close()
			return nil, err
		}
		d.OnLeftOut(func(text string) { f.LeftOut("%s", text) })
		return d, nil // the file stays open as long as the object: DWARF is read later
	})
	return d
}
