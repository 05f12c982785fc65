package session

import (
	"errors"
	"fmt"
	"slices"

	"culprit/grid"
	"culprit/pcl/syntax"
)

// A Listing is what knows the code of the targets, once Known has listed it.
type Listing interface {
	Known()
	Tree() *grid.Tree
}

// WithSimilarCode adds to the refusal of a module or a function what the target has instead: the function in another module, or the
// module or the function with the most similar name. Other errors are handed on as they are.
func WithSimilarCode(d Listing, err error, focus grid.Focus) error {
	var refused grid.ErrRefused
	code := focus.Elements(grid.Code)
	if len(code) == 0 || !errors.As(err, &refused) {
		return err
	}
	d.Known()
	function := ""
	if len(code) > 1 {
		function = code[1]
	}
	if name := similarCode(d.Tree(), code[0], function); name != "" {
		return fmt.Errorf("%w (did you mean %q?)", err, clean(name))
	}
	return err
}

// similarCode is MODULE or MODULE/FUNCTION as the tree has it, "" if nothing is similar, or if what is asked for is there. An empty
// function asks for the module.
func similarCode(tree *grid.Tree, module, function string) string {
	modules := tree.Children(grid.Code)
	if function == "" {
		return other(syntax.Closest(module, modules), module)
	}
	var others []string
	for _, m := range modules {
		if m != module && slices.Contains(tree.Children(grid.Code, m), function) {
			others = append(others, m)
		}
	}
	if near := syntax.Closest(module, others); near != "" {
		return near + "/" + function
	}
	if len(others) > 0 {
		return others[0] + "/" + function
	}
	if f := syntax.Closest(function, tree.Children(grid.Code, module)); f != "" {
		return module + "/" + f
	}
	if near := syntax.Closest(module, modules); near != "" && near != module {
		if f := syntax.Closest(function, tree.Children(grid.Code, near)); f != "" {
			return near + "/" + f
		}
		return near
	}
	return ""
}

// withSimilarObject adds to the refusal of a lock, a file or the like, which may be misspelt, which one the target has instead.
func withSimilarObject(tree *grid.Tree, err error, focus grid.Focus) error {
	for _, h := range []grid.Hierarchy{grid.SyncObject, grid.IO} {
		if path := similarObject(tree, h, focus.Elements(h)); path != nil {
			return fmt.Errorf("%w (did you mean %q?)", err, clean(grid.Whole().Refine(h, path...).String()))
		}
	}
	return err
}

// similarObject is the path below a hierarchy that one which is not there may be meant for: the same name of another kind, or the most similar name
// of its kind; nil if there is none, or if the path is there.
func similarObject(tree *grid.Tree, h grid.Hierarchy, path []string) []string {
	for i, name := range path {
		there := tree.Children(h, path[:i]...)
		if slices.Contains(there, name) {
			continue
		}
		if i == 1 {
			for _, kind := range tree.Children(h) {
				if slices.Contains(tree.Children(h, kind), name) {
					return []string{kind, name}
				}
			}
		}
		if near := syntax.Closest(name, there); near != "" {
			return append(slices.Clone(path[:i]), near)
		}
		return nil
	}
	return nil
}

// other is a name that is not the one that was asked for.
func other(name, asked string) string {
	if name == asked {
		return ""
	}
	return name
}
