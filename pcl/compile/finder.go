package compile

import (
	"slices"

	"culprit/grid"
	"culprit/pcl"
)

// A finder finds functions of a target by module and name, and leaves out what the library excludes.
type finder struct {
	lib   *pcl.Library
	names pcl.Names
}

// Functions are the functions of a target that an item of code stands for, each once, excluded ones left out: those of its
// modules, and those that it names. The functions of its loops are not among them.
func Functions(l *pcl.Library, it *pcl.GroupingItem, env pcl.Names) []pcl.FuncID {
	if it.Base != grid.Code {
		return nil
	}
	f := finder{l, env}
	var ids []pcl.FuncID
	for _, p := range it.Paths() {
		ids = append(ids, f.functionsAt(p)...)
	}
	return unique(ids)
}

// functionsAt are the functions of a path of /Code that is a module or a function.
func (f finder) functionsAt(path []string) []pcl.FuncID {
	switch {
	case len(path) == 1 && !f.lib.Excluded(path[0], ""):
		return f.moduleFuncs(path[0])
	case len(path) == 2 && !f.lib.Excluded(path[0], path[1]):
		return f.names.Function(path[0], path[1])
	}
	return nil
}

// allModules are the modules without the excluded ones.
func (f finder) allModules() []string {
	return slices.DeleteFunc(slices.Clone(f.names.Modules()), func(m string) bool { return f.lib.Excluded(m, "") })
}

// moduleFuncs are the functions of a module without the excluded ones.
func (f finder) moduleFuncs(module string) []pcl.FuncID {
	if !f.lib.HasExcludes() {
		return f.names.ModuleFunctions(module)
	}
	return slices.DeleteFunc(slices.Clone(f.names.ModuleFunctions(module)), func(id pcl.FuncID) bool {
		return f.lib.Excluded(module, f.names.FuncName(id))
	})
}
