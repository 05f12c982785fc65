package compile

import (
	"errors"

	"culprit/pcl"
	"culprit/pcl/types"
)

func (c *compiler) modules(names []string) value {
	v := value{typ: types.Modules}
	for _, m := range names {
		v.items = append(v.items, value{typ: types.Module, s: m})
	}
	return v
}

// unique drops the 0 and what was there before: one address may have many names.
func unique(ids []pcl.FuncID) []pcl.FuncID {
	if len(ids) == 1 && ids[0] != 0 {
		return ids
	}
	seen := map[pcl.FuncID]bool{0: true}
	var out []pcl.FuncID
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}

func (c *compiler) listValue(l *pcl.List) (v value, err error) {
	v.typ = types.ListTypes[l.Kind]
	if l.Kind == "procedure" {
		v.procs, err = c.listProcs(l)
		return v, err
	}
	if !flavored(l.Flavors, c.env) {
		return v, nil
	}
	for _, it := range l.Items {
		switch l.Kind {
		case "module":
			match := func(m string) bool { return m == it.Text }
			if it.Pattern != "" {
				match = pcl.Matcher(it.Text, it.Pattern == "regex")
			}
			for _, m := range c.allModules() {
				if match(m) {
					v.items = append(v.items, value{typ: types.Module, s: m})
				}
			}
		case "string":
			v.items = append(v.items, value{typ: types.String, s: it.Text})
		case "int":
			v.items = append(v.items, value{typ: types.Int, n: it.Int})
		}
	}
	return v, nil
}

// listProcs resolves a list of procedures. Names that the target does not have are skipped: one text serves many
// libraries.
func (c *compiler) listProcs(l *pcl.List) ([]pcl.FuncID, error) {
	if !flavored(l.Flavors, c.env) {
		return nil, nil
	}
	var all []pcl.FuncID
	for _, it := range l.Items {
		if it.Pattern != "" {
			all = append(all, c.env.Matching(it.Text, it.Pattern == "regex")...)
		} else {
			ids, err := c.ofItem(l, it.Text)
			if err != nil {
				return nil, err
			}
			all = append(all, ids...)
		}
	}
	all = unique(all)
	if l.Library {
		if c.fromLibrary == nil {
			c.fromLibrary = map[pcl.FuncID]bool{}
		}
		for _, id := range all {
			c.fromLibrary[id] = true
		}
	}
	return all, nil
}

// ofItem are the functions that an item of a list means. A list of a library has exact names, which the target need not have: one text
// serves many libraries. Other lists have names as $function has.
func (c *compiler) ofItem(l *pcl.List, name string) ([]pcl.FuncID, error) {
	if l.Library {
		return c.env.Named(name), nil
	}
	ids, err := c.env.Meant(name)
	var none *pcl.NoFunction
	if errors.As(err, &none) && len(none.May) == 0 {
		if c.absent == nil {
			c.absent = map[string]bool{}
		}
		if !c.absent[none.Name] {
			c.absent[none.Name] = true
			c.plan.Absent = append(c.plan.Absent, none)
		}
		return nil, nil
	}
	return ids, err
}
