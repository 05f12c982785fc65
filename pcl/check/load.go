package check

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"culprit/pcl"
	"culprit/pcl/lib"
	"culprit/pcl/syntax"
)

// Load reads, checks and merges texts. A definition that has an error is left out, which a Problem reports; if an
// earlier definition of the same name was sound, that one stays in force. The error is not nil only if one of Files
// could not be read; the library is nil then.
func Load(o Options) (*pcl.Library, []Problem, error) {
	b := newBuilder()
	if !o.NoDefault {
		for _, f := range lib.Files() {
			b.text(f.Name, f.Text)
		}
	}
	b.userDir(o.UserDir)
	for _, name := range o.Files {
		text, err := readText(name)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot read the PCL file %s: %w", name, err)
		}
		b.text(name, text)
	}
	for i, text := range o.Texts {
		b.text(fmt.Sprintf("-e[%d]", i+1), text)
	}
	return b.build(), b.problems.all(), nil
}

// Options say what is loaded, in this order: the default library, UserDir/*.pcl by name, Files, Texts. A later
// definition of a name replaces the earlier one.
type Options struct {
	NoDefault bool
	UserDir   string   // "" or a directory that need not exist
	Files     []string // each must be readable
	Texts     []string // PCL as given on the command line
}

// readText reads one file, no more of it than the parser would take.
func readText(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var text strings.Builder
	text.Grow(int(min(info.Size(), syntax.MaxText+1)))
	_, err = io.Copy(&text, io.LimitReader(f, syntax.MaxText+1))
	return text.String(), err
}

// userDir reads the user's own files. One that cannot be read is a problem, not an error: nobody named it.
func (b *builder) userDir(dir string) {
	if dir == "" {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.problem(Problem{Msg: fmt.Sprintf("cannot read the directory %s: %v", dir, err)})
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".pcl" {
			continue
		}
		name := filepath.Join(dir, e.Name())
		text, err := readText(name)
		if err != nil {
			b.problem(Problem{Msg: fmt.Sprintf("cannot read %s: %v", name, err)})
			continue
		}
		b.text(name, text)
	}
}

// LoadSources is Load of nothing but texts.
func LoadSources(sources []pcl.Source) (*pcl.Library, []Problem) {
	b := newBuilder()
	for _, s := range sources {
		b.text(s.Name, s.Text)
	}
	return b.build(), b.problems.all()
}
