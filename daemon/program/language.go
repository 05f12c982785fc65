package program

import (
	"regexp"
	"slices"
)

// What programs are written in, and what they run.

// Runtime guesses what a program is written in. A library in another language does not make it one of that language, but for Go, whose
// runtime has the whole process.
func (p *Program) Runtime() string {
	switch {
	case slices.ContainsFunc(p.list, func(o *Object) bool { return o.IsGo() }):
		return "go"
	case p.Main().IsRust():
		return "rust"
	case p.Main().IsCXX():
		return "cxx"
	}
	return "c"
}

// GoObjects names the objects of the program that hold Go code.
func (p *Program) GoObjects() (names []string) {
	for _, o := range p.list {
		if o.IsGo() {
			names = append(names, o.Name)
		}
	}
	return names
}

// SharedObjects names the objects of the program whose text is mapped MAP_SHARED.
func (p *Program) SharedObjects() (names []string) {
	for _, o := range p.list {
		if o.Shared {
			names = append(names, o.Name)
		}
	}
	return names
}

// UsesMPI reports whether the program has MPI's functions.
func (p *Program) UsesMPI() bool {
	return len(p.Named("MPI_Init")) > 0 || len(p.Named("MPI_Init_thread")) > 0
}

// Flavors implements pcl.Env.
func (p *Program) Flavors() []string {
	list := []string{"any", "unix", "c", "cxx", "rust"}
	if p.UsesMPI() {
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
	{regexp.MustCompile(`^(libcoreclr\.so|mono(-sgen[0-9]*)?|libmono.*\.so.*)$`), "C#"},
	{regexp.MustCompile(`^libjulia.*\.so.*$`), "Julia"},
	{regexp.MustCompile(`^beam\.smp$`), "Erlang"},
}

// Interprets is the language of the programs that a program runs, "" if it is not known to run any.
func (p *Program) Interprets() string {
	if p.language.since != p.changes+1 {
		p.language.name, p.language.since = p.findLanguage(), p.changes+1
	}
	return p.language.name
}

func (p *Program) findLanguage() string {
	for _, in := range interpreters {
		for _, o := range p.list {
			if in.file.MatchString(o.Name) {
				return in.language
			}
		}
	}
	return ""
}
