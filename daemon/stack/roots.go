package stack

import (
	"culprit/daemon/libc"
	"culprit/daemon/program"
	"culprit/internal/funcname"
	"culprit/pcl"
)

// ThreadRoot is the function a thread began with: main, or what the threads library called.
func ThreadRoot(frames []Frame) *program.Function {
	for i := len(frames) - 1; i >= 0; i-- {
		f := frames[i].Func
		if f == nil || f.Fn.Refuse != "" {
			continue
		}
		if libc.StartsThreads(f.Fn.Linkage) {
			continue
		}
		if !f.Fn.Named && len(frames) > 1 && i > 0 && libc.IsC(f.Obj.Name) {
			continue // the C library's own start-up code, stripped of its names
		}
		return f
	}
	return nil
}

// OwnFunction is the innermost function of a stack that is not of the library of its language; where there is none, one that is not the C library's, or 0.
func OwnFunction(frames []Frame) pcl.FuncID {
	for _, fr := range frames {
		if fr.Func != nil && !funcname.OfLanguage(fr.Func.Obj.Name, fr.Func.Fn.Name) {
			return fr.Func.ID
		}
	}
	for _, fr := range frames {
		if fr.Func != nil && !libc.IsC(fr.Func.Obj.Name) {
			return fr.Func.ID
		}
	}
	return 0
}
