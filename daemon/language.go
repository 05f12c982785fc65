package daemon

import (
	"regexp"

	"culprit/daemon/libc"
)

// What programs are written in, and what they run.

// runtime guesses what a target is written in from what it has loaded.
func (p *program) runtime() string {
	for _, o := range p.list {
		switch {
		case o.IsGo():
			return "go"
		case libc.IsCXX(o.name):
			return "cxx"
		}
	}
	if p.main().IsRust() {
		return "rust"
	}
	return "c"
}

// goObjects names the objects of the target that hold Go code.
func (p *program) goObjects() (names []string) {
	for _, o := range p.list {
		if o.IsGo() {
			names = append(names, o.name)
		}
	}
	return names
}

// usesMPI reports whether the target has MPI's functions.
func (p *program) usesMPI() bool {
	return len(p.Named("MPI_Init")) > 0 || len(p.Named("MPI_Init_thread")) > 0
}

// Flavors implements pcl.Env.
func (p *program) Flavors() []string {
	list := []string{"any", "unix", "c", "cxx", "rust"}
	if p.usesMPI() {
		list = append(list, "mpi")
	}
	return list
}

// interpreters are the files of code by which such programs are told, and the language that they run.
var interpreters = []struct {
	file     *regexp.Regexp
	language string
}{

	{regexp.MustCompile(`^libjvm\.so`), "Java"},
	{regexp.MustCompile(`^(node|libnode\.so.*)$`), "JavaScript"},
	{regexp.MustCompile(`^(python[0-9.]*|libpython[0-9].*)$`), "Python"},
	{regexp.MustCompile(`^(perl[0-9.]*|libperl\.so.*)$`), "Perl"},
	{regexp.MustCompile(`^(ruby[0-9.]*|libruby.*\.so.*)$`), "Ruby"},
	{regexp.MustCompile(`^(php[0-9.]*|php-fpm[0-9.]*|libphp.*\.so.*)$`), "PHP"},
	{regexp.MustCompile(`^(lua[0-9.]*|luajit.*)$`), "Lua"},
}

// interprets is the language of the programs that a target runs, "" if it is not known to run any.
func (p *program) interprets() string {
	for _, in := range interpreters {
		for _, o := range p.list {
			if in.file.MatchString(o.name) {
				return in.language
			}
		}
	}
	return ""
}
