package image

import (
	"os"
	"syscall"
)

// debugRoot is where distributions put separate debug files, by build-id (gdb manual, "Separate Debug Files").
// It is a variable for the tests.
var debugRoot = "/usr/lib/debug/.build-id"

// debugFile finds the separate debug file of a stripped object by its build-id; nil if there is none that fits.
// The path is made of hexadecimal digits only, so nothing in the file can lead it elsewhere.
func (o *Object) debugFile() *Object {
	d, _ := o.debug.get(o.name, func() (*Object, error) {
		id := o.buildID
		if len(id) < 4 {
			return nil, nil
		}
		f, err := os.OpenFile(debugRoot+"/"+id[:2]+"/"+id[2:]+".debug", os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return nil, err
		}
		st, err := f.Stat()
		if err != nil || !st.Mode().IsRegular() {
			f.Close()
			return nil, err
		}
		d, err := open(f, st.Size(), o.name, false)
		if err != nil || d.buildID != id {
			f.Close()
			return nil, err
		}
		d.OnLeftOut(func(text string) { o.leftOut("%s", text) })
		return d, nil // the file stays open as long as the object: DWARF is read later
	})
	return d
}
