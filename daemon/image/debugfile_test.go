package image

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"culprit/daemon/image/elffile"
	"culprit/internal/testprog"
)

// noDebugFiles has this machine have no debug files until the test ends; it gives the directory in which they would be.
func noDebugFiles(t *testing.T) string {
	t.Helper()
	old := elffile.DebugRoot
	elffile.DebugRoot = t.TempDir()
	t.Cleanup(func() { elffile.DebugRoot = old })
	return elffile.DebugRoot
}

// below opens files below a directory, as the root of a process.
func below(t *testing.T, dir string) elffile.Root {
	return func(path string) (elffile.DebugReader, int64, error) {
		f, err := os.OpenFile(filepath.Join(dir, path), os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return nil, 0, err
		}
		st, err := f.Stat()
		if err != nil {
			t.Error(err)
		}
		return f, st.Size(), nil
	}
}

// put copies a file into a place that does not exist yet.
func put(t *testing.T, from, to string) string {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o700)
	}
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// stripped opens a stripped object that lies in /opt/app of a root directory; said is what was left out of it.
func stripped(t *testing.T, path, root string) (o *Object, said *string) {
	t.Helper()
	o = openFile(t, path, "prog")
	o.LiesIn(below(t, root), "/opt/app")
	said = new(string)
	o.OnLeftOut(func(text string) { *said += text + "\n" })
	return o, said
}

// TestWhereDebugFilesLie finds the debug file of a program and of a library in every place where one may be, and uses all of it: names, lines,
// source files, variables. What is installed for a library of the system gives names and lines only.
func TestWhereDebugFilesLie(t *testing.T) {
	for _, kind := range []struct {
		name  string
		flags []string
	}{{"program", []string{"-g", "-O1", "-pthread"}}, {"library", []string{"-g", "-O1", "-pthread", "-shared", "-fPIC", "-Wl,-soname,libprog.so"}}} {
		path := testprog.BuildSource(t, dataC, kind.flags...)
		id := openFile(t, path, "prog").BuildID()
		byID := ".build-id/" + id[:2] + "/" + id[2:] + ".debug"
		file, debug := testprog.SplitDebug(t, path)
		for place, beside := range map[string]bool{"opt/app/prog.debug": true, "opt/app/.debug/prog.debug": true, "usr/lib/debug/opt/app/prog.debug": false,
			"usr/lib/debug/" + byID: false, "here": false} {
			t.Run(kind.name+" "+place, func(t *testing.T) {
				host, root := noDebugFiles(t), t.TempDir()
				if place == "here" {
					put(t, debug, filepath.Join(host, id[:2], id[2:]+".debug"))
				} else {
					put(t, debug, filepath.Join(root, place))
				}
				o, said := stripped(t, file, root)
				f := one(t, o, "bump")
				own := beside || kind.name == "program"
				if want := map[bool]string{true: "prog.c", false: "prog"}[own]; f.Module != want || o.HasDwarf() != own {
					t.Errorf("it belongs to %s, want %s; DWARF of its own: %v", f.Module, want, o.HasDwarf())
				}
				if src, line, ok := o.Line(f.Addr); filepath.Base(src) != "prog.c" || line != 7 || !ok {
					t.Errorf("line %s:%d", src, line)
				}
				if d, ok := o.DataNamed("counter"); !ok || d.Size != 4 {
					t.Errorf("variable %+v, %v", d, ok)
				}
				if *said != "" {
					t.Errorf("told %q", *said)
				}
			})
		}
	}
}

// TestWrongDebugFiles: a debug file that is not that of the program is not used, and somebody is told; the program keeps the names that it has.
func TestWrongDebugFiles(t *testing.T) {
	path := testprog.BuildSource(t, dataC, "-g", "-O1", "-pthread", "-rdynamic")
	file, debug := testprog.SplitDebug(t, path)
	other := testprog.BuildSource(t, testprog.SwitchC, "-g", "-O1")
	longer := testprog.WithSections(t, debug, []testprog.Section{{Name: ".debug_str", Data: make([]byte, 100)}})
	for name, c := range map[string]struct{ file, told string }{
		"another program":      {other, "its build-id is another one"},
		"another checksum":     {longer, "its checksum is not the one"},
		"the program itself":   {file, "its checksum is not the one"},
		"text":                 {"debugfile_test.go", "not a usable ELF file"},
		"a file of an archive": {"", "not a usable ELF file"},
	} {
		t.Run(name, func(t *testing.T) {
			noDebugFiles(t)
			root := t.TempDir()
			at := filepath.Join(root, "opt/app/.debug/prog.debug")
			if c.file != "" {
				put(t, c.file, at)
			} else if err := os.WriteFile(put(t, debug, at), []byte("!<arch>\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			o, said := stripped(t, file, root)
			if len(o.Named("bump")) != 1 {
				t.Errorf("its own names are lost: %d functions", len(o.Functions()))
			}
			if _, _, ok := o.Line(one(t, o, "bump").Addr); ok || !strings.Contains(*said, "/opt/app/.debug/prog.debug of prog was not used: ") || !strings.Contains(*said, c.told) {
				t.Errorf("lines are known: %v; told %q", ok, *said)
			}
		})
	}
}

// TestNextDebugFile: behind a debug file that does not fit the right one is still found.
func TestNextDebugFile(t *testing.T) {
	noDebugFiles(t)
	path := testprog.BuildSource(t, dataC, "-g", "-O1", "-pthread")
	file, debug := testprog.SplitDebug(t, path)
	root := t.TempDir()
	put(t, testprog.BuildSource(t, testprog.SwitchC, "-g", "-O1"), filepath.Join(root, "opt/app/prog.debug"))
	put(t, debug, filepath.Join(root, "opt/app/.debug/prog.debug"))
	o, said := stripped(t, file, root)
	if one(t, o, "bump").Module != "prog.c" || !strings.Contains(*said, "its build-id is another one") {
		t.Errorf("told %q", *said)
	}
}

// TestHostileDebugFiles: debug files that claim what cannot be take little, and leave the object its own names.
func TestHostileDebugFiles(t *testing.T) {
	path := testprog.BuildSource(t, testprog.SwitchC, "-g", "-O1")
	for name, sections := range testprog.Hostile() {
		t.Run(name, func(t *testing.T) {
			noDebugFiles(t)
			root := t.TempDir()
			debug := filepath.Join(root, "opt/app/prog.debug")
			put(t, testprog.WithSections(t, path, sections), debug)
			file := testprog.Strip(t, path)
			testprog.Objcopy(t, "--add-gnu-debuglink="+debug, file)
			o, said := stripped(t, file, root)
			touch(o)
			if len(o.Functions()) < 5 {
				t.Errorf("%d functions", len(o.Functions()))
			}
			t.Log(*said)
			for _, f := range o.Functions() {
				if o.elf.ExecAt(f.Addr) == nil {
					t.Errorf("%s lies at %#x, where there is no code", f.Name, f.Addr)
				}
			}
		})
	}
}

// TestEmbeddedNames: functions that are not exported are known by the names that lie compressed in a stripped program.
func TestEmbeddedNames(t *testing.T) {
	noDebugFiles(t)
	path := testprog.BuildSource(t, testprog.SwitchC, "-O1")
	whole, file := openFile(t, path, "prog"), testprog.EmbedNames(t, path)
	o, said := stripped(t, file, t.TempDir())
	names := func(o *Object) (list []string) {
		for _, f := range o.Functions() {
			if f.Named {
				list = append(list, f.Name)
			}
		}
		return list
	}
	if want, got := names(whole), names(o); !slices.Equal(want, got) || len(got) < 10 {
		t.Errorf("names %q, want %q; told %q", got, want, *said)
	}
	if o.HasDwarf() || one(t, o, "tail_cond").Module != "prog" {
		t.Error("there is no DWARF in it")
	}
}

// TestDamagedEmbeddedNames damages every byte of the compressed names in turn: either nothing of them is used, or the names are right.
func TestDamagedEmbeddedNames(t *testing.T) {
	noDebugFiles(t)
	path := testprog.BuildSource(t, dataC, "-O1", "-pthread")
	b, err := os.ReadFile(testprog.EmbedNames(t, path))
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, []byte("\xfd7zXZ\x00"))
	end := at + bytes.LastIndex(b[at:], []byte("YZ")) + 2
	if at < 0 || end < at+100 {
		t.Fatal("nothing is embedded")
	}
	used := 0
	for i := at; i < end; i++ {
		c := bytes.Clone(b)
		c[i] ^= 1 << (i % 8)
		o, err := Open(bytes.NewReader(c), int64(len(c)), "prog")
		if err != nil {
			t.Fatal(err)
		}
		if fs := o.Named("bump"); len(fs) == 1 {
			used++
		} else if len(fs) > 1 || len(o.Functions()) == 0 {
			t.Fatalf("byte %d: %d functions, %d called bump", i-at, len(o.Functions()), len(fs))
		}
	}
	if used > 60 {
		t.Errorf("the names were used with %d of %d bytes damaged", used, end-at)
	}
}
