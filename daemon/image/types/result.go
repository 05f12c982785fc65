package types

import (
	"errors"
	"fmt"
	"regexp"

	"culprit/daemon/image/debuginfo"
	"culprit/daemon/image/lazy"
)

// ErrNoValue says that something is known to be no number that a probe can read.
type ErrNoValue struct{ Reason string }

// Error is the reason.
func (e *ErrNoValue) Error() string { return e.Reason }

// partial matches names of copies of functions that GCC has made without a part of their code or their result (-fipa-sra, -fpartial-inlining).
var partial = regexp.MustCompile(`\.(isra|part)\b`)

// Result says which bytes of rax are what a function returns: its Offset is 0. The error is *ErrNoTypes, *ErrNoValue, or says why it is not
// known.
func (x *Info) Result(f Func) (r ArgLoad, err error) {
	defer lazy.Guard(&err, x.file.Name())
	s, err := x.signature(f)
	if partial.MatchString(f.Linkage) && (err == nil || errors.As(err, new(*ErrNoTypes))) {
		return r, &ErrNoValue{fmt.Sprintf("%s is a copy that the compiler has made, which need not return what the function returns", f.Name)}
	}
	if err != nil {
		return r, err
	}
	if s.lang == debuginfo.LangGo {
		return r, &ErrNoTypes{"it is written in Go, whose DWARF does not say where results are"}
	}
	t, err := s.d.resolve(s.result)
	switch {
	case err != nil:
		return r, err
	case t.kind == tVoid:
		return r, &ErrNoValue{f.Name + " returns nothing"}
	case !t.loadable():
		return r, &ErrNoValue{fmt.Sprintf("%s returns %s, which probes cannot read", f.Name, t.describe())}
	}
	return ArgLoad{Size: uint8(t.size), Signed: t.signed}, nil
}
