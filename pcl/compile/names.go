package compile

import (
	"errors"
	"strings"

	"culprit/grid"
	"culprit/internal/safetext"
	"culprit/pcl"
	"culprit/pcl/syntax"
)

// named are the functions that $function("name") means. That there is none is an error: 0 would be taken for an answer.
func (c *compiler) named(name string) ([]pcl.FuncID, error) {
	if path, ok := strings.CutPrefix(name, "/Code/"); ok {
		module, function, _ := strings.Cut(path, "/")
		if ids := unique(c.env.Function(module, function)); len(ids) > 0 {
			return ids, nil
		}
		return nil, Missing([]string{module, function}, c.env)
	}
	ids, err := c.env.Meant(name)
	for _, id := range ids {
		delete(c.fromLibrary, id)
	}
	return unique(ids), err
}

// instead says what a target has that is similar to a path of /Code, or why it does not have that.
func instead(path []string, env pcl.Names) string {
	if len(path) == 1 {
		if near := syntax.Similar(path[0], env.Modules(), maxNearest); len(near) > 0 {
			return "; nearest: " + safetext.CleanMax(strings.Join(near, ", "), 400)
		}
		return ""
	}
	ids, err := env.Meant(path[1])
	var none *pcl.NoFunction
	switch {
	case errors.As(err, &none) && none.Why != "":
		return ": " + none.Why
	case errors.As(err, &none) && len(none.May) > 0:
		return "; nearest: " + strings.Join(none.May, ", ")
	case errors.As(err, &none):
		return none.NearestText()
	case len(ids) > 0:
		var places []string
		for _, id := range ids[:min(len(ids), maxNearest)] {
			places = append(places, "/Code/"+env.FuncModule(id)+"/"+env.FuncName(id))
		}
		return "; there is " + strings.Join(places, ", ")
	}
	return ""
}

// maxNearest bounds the functions that a message names.
const maxNearest = 5

// Missing says that a target has nothing of a path of /Code, and what it has instead.
func Missing(path []string, env pcl.Names) *pcl.NoFunction {
	what := "module"
	switch {
	case len(path) == 3 && len(env.Function(path[0], path[1])) > 0:
		what = "loop"
	case len(path) > 1:
		what = "function"
	}
	at := grid.ErrRefused{Point: grid.Whole().Refine(grid.Code, path...).String(), Reason: "the target has no such " + what}
	if what != "loop" {
		at.Reason += instead(path, env)
	}
	return &pcl.NoFunction{Name: path[min(len(path), 2)-1], At: &at}
}

// pointless refuses a plan whose base has no point: it would count nothing for ever. Lists of libraries may be empty, and an item of a
// hierarchy may get its parts later.
func (c *compiler) pointless(x *pcl.Match, before int) error {
	counting := x.Body(c.m)
	_, _, item := c.focus.Item()
	if len(c.plan.Requests) > before || counting.Kind == pcl.Kernel || counting.Block == nil || item || x.Replace != nil {
		return nil
	}
	for _, name := range counting.Lists {
		if l := c.lib.List(name); l.Library || !flavored(l.Flavors, c.env) {
			return nil
		}
	}
	if len(c.plan.Absent) > 0 {
		return c.plan.Absent[0]
	}
	if counting.Inserts {
		return &pcl.NoPoint{Pair: c.plan.Pair}
	}
	return nil
}
