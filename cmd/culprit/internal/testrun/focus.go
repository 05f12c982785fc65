package testrun

import (
	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/pcltest"
	"culprit/pcl/syntax"
)

// focus reads a focus of a test that is being measured.
func (r *run) focus(w pcltest.Word) (grid.Focus, error) {
	text, err := w.Expand(r.value)
	if err != nil {
		return grid.Focus{}, err
	}
	return pcl.ParseFocus(text, r.measured.lib.Defined()...)
}

// checkFoci reports foci that name hierarchies which no text defines. Those with variables are read when these have values.
func checkFoci(lib *pcl.Library, t *pcltest.Test) (problems []*syntax.Error) {
	for _, s := range t.Steps {
		w, ok := focusOf(s)
		if !ok {
			continue
		}
		text, err := w.Expand(noValue)
		if err != nil {
			continue
		}
		if _, err := pcl.ParseFocus(text, lib.Defined()...); err != nil {
			problems = append(problems, &syntax.Error{Pos: w.Pos, Msg: err.Error()})
		}
	}
	return problems
}

// focusOf is the focus of a statement that has one.
func focusOf(s pcltest.Step) (pcltest.Word, bool) {
	switch s := s.(type) {
	case pcltest.Expect:
		return s.Focus, true
	case pcltest.Enable:
		return s.Focus, true
	case pcltest.Disable:
		return s.Focus, true
	case pcltest.Hypothesis:
		return s.Focus, true
	}
	return pcltest.Word{}, false
}
