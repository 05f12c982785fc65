package testrun

import (
	"fmt"
	"path/filepath"
	"strings"

	"culprit/pcl"
	"culprit/pcl/check"
	"culprit/pcl/pcltest"
	"culprit/pcl/syntax"
)

// BadFile says that a file of tests has PCL with errors in it, or names a file of PCL that cannot be read.
type BadFile struct{ Problems []*syntax.Error }

// Error shows each place.
func (b *BadFile) Error() string {
	var all []string
	for _, p := range b.Problems {
		all = append(all, p.Detail())
	}
	return strings.Join(all, "\n")
}

// library loads the default library and the PCL of a test that is not meant to be refused.
func library(f *pcltest.File, t *pcltest.Test) (*pcl.Library, error) {
	opts := check.Options{}
	var bodies []*pcltest.Body
	for _, s := range t.Steps {
		switch s, ok := s.(pcltest.PCL); {
		case !ok || s.Error != "":
		case s.Body == nil:
			opts.Files = append(opts.Files, beside(f, s.File))
		default:
			opts.Texts = append(opts.Texts, s.Body.Raw)
			bodies = append(bodies, s.Body)
		}
	}
	lib, problems, err := check.Load(opts)
	if err != nil {
		return nil, &BadFile{[]*syntax.Error{{Pos: t.Pos, Msg: err.Error()}}}
	}
	if len(problems) > 0 {
		return nil, &BadFile{inFile(problems, bodies)}
	}
	return lib, nil
}

func beside(f *pcltest.File, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(f.Source.Name), name)
}

// inFile says where in the file of the test what is wrong with its bodies stands.
func inFile(problems []check.Problem, bodies []*pcltest.Body) (out []*syntax.Error) {
	for _, p := range problems {
		pos := p.Pos
		for i, b := range bodies {
			if pos.File != nil && pos.File.Name == fmt.Sprintf("-e[%d]", i+1) {
				pos = b.Place(pos)
				break
			}
		}
		out = append(out, &syntax.Error{Pos: pos, Msg: p.Msg})
	}
	return out
}

// checkPCL reports what is wrong with the PCL of a test, and with what is asked of it, before anything is started.
func checkPCL(f *pcltest.File, t *pcltest.Test) error {
	lib, err := library(f, t)
	if err != nil {
		return err
	}
	if problems := append(checkFoci(lib, t), checkSearch(lib, t)...); len(problems) > 0 {
		return &BadFile{problems}
	}
	return nil
}

// refusePCL checks that a text is refused, and why.
func (r *run) refusePCL(s pcltest.PCL) error {
	if s.Error == "" {
		return nil
	}
	_, problems, err := check.Load(check.Options{Texts: []string{s.Body.Raw}})
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%s: pcl error %q", s.Pos, s.Error)
	var said []string
	for _, p := range inFile(problems, []*pcltest.Body{s.Body}) {
		if strings.Contains(p.Error(), s.Error) {
			r.pass("%s: %s", what, p.Msg)
			return nil
		}
		said = append(said, p.Error())
	}
	if len(said) == 0 {
		said = []string{"there is no error in it"}
	}
	r.fail("%s: %s", what, strings.Join(said, "\n"))
	return nil
}
