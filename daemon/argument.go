package daemon

import (
	"errors"
	"fmt"

	"culprit/daemon/image"
	"culprit/internal/safetext"
	"culprit/pcl"
)

// Arg implements pcl.Env.
func (t *target) Arg(id pcl.FuncID, path pcl.ArgPath) (place pcl.ArgPlace, err error) {
	f := t.funcs[id]
	if f == nil {
		return place, &pcl.NoTypes{Function: hex(uint64(id)), Reason: "there is no function"}
	}
	asked := image.ArgPath{Name: path.Name, Index: path.Index, Text: path.Text}
	for _, step := range path.Fields {
		asked.Fields = append(asked.Fields, image.ArgField(step))
	}
	found, err := f.obj.Argument(f.fn, asked)
	if err != nil {
		return place, argError(f.fn.Name, err)
	}
	place = pcl.ArgPlace{Register: found.Register, Narrow: pcl.ArgLoad(found.Narrow), Offset: found.Offset, Room: found.Room}
	for _, l := range found.Loads {
		place.Loads = append(place.Loads, pcl.ArgLoad(l))
	}
	return place, nil
}

// argError turns errors of image into those of pcl; names in DWARF are the target's, so they are cleaned.
func argError(function string, err error) error {
	var none *image.ErrNoTypes
	var no *image.ErrNoSuch
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
	return fmt.Errorf("in %s, %s", safetext.Clean(function), safetext.Clean(err.Error()))
}
