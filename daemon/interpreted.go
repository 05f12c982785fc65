package daemon

import "regexp"

// Programs that run other programs: what those are written in has no functions for us, only the machine that runs them has.

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
func (t *target) interprets() string {
	for _, in := range interpreters {
		for _, o := range t.objects {
			if in.file.MatchString(o.name) {
				return in.language
			}
		}
	}
	return ""
}
