package testrun

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"culprit/pcl/pcltest"
)

// path is a name as programs of the test see it, which run in its directory.
func (r *run) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(r.dir, name)
}

// beside is a name relative to the file of the test.
func (r *run) beside(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(r.vars["here"], name)
}

// needs looks for a program or a file.
func (r *run) needs(s pcltest.Needs) error {
	pattern, err := s.Pattern.Expand(r.value)
	if err != nil {
		return err
	}
	if !strings.Contains(pattern, "/") {
		path, err := exec.LookPath(pattern)
		if err != nil {
			return &missing{fmt.Sprintf("needs the program %s", pattern)}
		}
		r.vars[s.Name] = path
		return nil
	}
	found, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return &missing{fmt.Sprintf("needs %s", pattern)}
	}
	r.vars[s.Name] = found[len(found)-1]
	return nil
}

// compilerFlags are put before the test's own, which therefore win.
var compilerFlags = []string{"-O2", "-g", "-pthread"}

// compile builds a source into the directory of the test.
func (r *run) compile(s pcltest.Compile) error {
	flags, err := r.words(s.Flags)
	if err != nil {
		return err
	}
	source := r.beside(s.Source)
	if s.Body != nil {
		source = r.path(s.Source)
		if err := os.WriteFile(source, []byte(s.Body.Text()), 0o644); err != nil {
			return err
		}
	}
	compiler := "gcc"
	if strings.HasSuffix(source, ".cc") {
		compiler = "g++"
	}
	path, err := exec.LookPath(compiler)
	if err != nil {
		return &missing{"needs the compiler " + compiler}
	}
	return r.build(path, source, flags)
}

// build runs the compiler. Libraries stand behind the source, where the linker wants them.
func (r *run) build(compiler, source string, flags []string) error {
	out := r.path(strings.TrimSuffix(filepath.Base(source), filepath.Ext(source)))
	args := append([]string{compiler}, compilerFlags...)
	args = append(args, "-I", r.vars["here"], "-o", out, source)
	p := &program{name: filepath.Base(compiler)}
	if err := r.launch(p, r.command(append(args, flags...)), false); err != nil {
		return err
	}
	select {
	case <-p.Done():
	case <-r.ctx.Done():
		p.end()
		return nil
	}
	if p.status() != 0 {
		return errors.New("it does not compile:\n" + strings.Join(r.out.tail(p, 20), "\n"))
	}
	return nil
}

// writeFile writes the body of a statement.
func (r *run) writeFile(s pcltest.WriteFile) error {
	return os.WriteFile(r.path(s.Name), []byte(s.Body.Text()), 0o644)
}
