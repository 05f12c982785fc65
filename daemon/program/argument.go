package program

import (
	"errors"
	"fmt"

	"culprit/daemon/image/types"
	"culprit/internal/safetext"
	"culprit/pcl"
)

// Arg implements pcl.Env.
func (p *Program) Arg(id pcl.FuncID, path pcl.ArgPath) (place pcl.ArgPlace, err error) {
	f := p.funcs[id]
	if f == nil {
		return place, &pcl.NoTypes{Function: fmt.Sprintf("%#x", uint64(id)), Reason: "there is no function"}
	}
	if path.Name == "" && path.Index < len(f.args) && len(path.Fields) == 0 && !path.Text {
		return f.plainArg(path.Index)
	}
	return f.argument(path)
}

// argument asks DWARF.
func (f *Function) argument(path pcl.ArgPath) (place pcl.ArgPlace, err error) {
	asked := types.ArgPath{Name: path.Name, Index: path.Index, Text: path.Text}
	for _, step := range path.Fields {
		asked.Fields = append(asked.Fields, types.ArgField(step))
	}
	found, err := f.Obj.Argument(f.Fn, asked)
	if err != nil {
		return place, argError(f.Fn.Name, err)
	}
	place = pcl.ArgPlace{Register: found.Register, Narrow: pcl.ArgLoad(found.Narrow), Offset: found.Offset, Room: found.Room}
	for _, l := range found.Loads {
		place.Loads = append(place.Loads, pcl.ArgLoad(l))
	}
	return place, nil
}

// argError turns errors of image into those of pcl; names in DWARF are the target's, so they are cleaned.
func argError(function string, err error) error {
	var none *types.ErrNoTypes
	var no *types.ErrNoSuch
	var gone *types.ErrNoValue
	switch {
	case errors.As(err, &none):
		return &pcl.NoTypes{Function: safetext.Clean(function), Reason: none.Reason}
	case errors.As(err, &no):
		out := &pcl.NoSuchName{What: no.What, Name: no.Name, Of: safetext.Clean(no.Of)}
		for _, k := range no.Known {
			out.Known = append(out.Known, safetext.CleanMax(k, 64))
		}
		return out
	}
	if errors.As(err, &gone) {
		return &pcl.NoValue{Reason: safetext.Clean(gone.Reason)}
	}
	return fmt.Errorf("in %s, %s", safetext.Clean(function), safetext.Clean(err.Error()))
}

// OwnTypes implements pcl.Env.
func (p *Program) OwnTypes(id pcl.FuncID) bool { f := p.funcs[id]; return f != nil && f.Obj.HasDwarf() }

// Result implements pcl.Env.
func (p *Program) Result(id pcl.FuncID) (pcl.ArgLoad, error) {
	f := p.funcs[id]
	if f == nil {
		return pcl.ArgLoad{}, &pcl.NoTypes{Function: fmt.Sprintf("%#x", uint64(id)), Reason: "there is no function"}
	}
	if f.result == nil {
		r, err := f.Obj.Result(f.Fn)
		f.result = &knownResult{pcl.ArgLoad(r), err}
		if err != nil {
			f.result.err = argError(f.Fn.Name, err)
		}
	}
	return f.result.load, f.result.err
}

// A knownResult is what DWARF says of the result of a function. Plans are made again and again.
type knownResult struct {
	load pcl.ArgLoad
	err  error
}

// A knownArg is what it says of one of the arguments that are passed in registers, by its number.
type knownArg struct {
	place pcl.ArgPlace
	err   error
}

// plainArg is an argument by its number, with nothing behind it.
func (f *Function) plainArg(i int) (pcl.ArgPlace, error) {
	if f.args[i] == nil {
		place, err := f.argument(pcl.ArgPath{Index: i})
		f.args[i] = &knownArg{place, err}
	}
	return f.args[i].place, f.args[i].err
}
