package check

import (
	"slices"

	"culprit/pcl"
	"culprit/pcl/syntax"
)

var listKinds = map[string][]syntax.ValueKind{"procedure": {syntax.String}, "module": {syntax.String}, "string": {syntax.String},
	"int": {syntax.Int}, "float": {syntax.Int, syntax.Float}}

func (b *builder) checkList(d *syntax.Def) error {
	have, err := uniqueItems(d)
	if err == nil {
		err = require(d, have, "items")
	}
	if err != nil {
		return err
	}
	l := &pcl.List{Name: d.Name, Kind: d.ListKind, Items: have["items"].Values, Flavors: texts(have["flavor"])}
	l.Library = have["library"] != nil && have["library"].Values[0].Num != 0
	for _, v := range l.Items {
		if !slices.Contains(listKinds[l.Kind], v.Kind) {
			return syntax.ErrorAt(v.Pos, "resourceList %s: found %s, expected an item of kind %s", d.Name, v, l.Kind)
		}
		if v.Pattern != "" && l.Kind != "procedure" && l.Kind != "module" {
			return syntax.ErrorAt(v.Pos, "resourceList %s: found a pattern, expected one only in lists of procedures and modules", d.Name)
		}
		if v.Pattern != "" {
			if err := b.checkPattern(v.Pos, v.Text, v.Pattern == "regex"); err != nil {
				return err
			}
		}
	}
	b.lists[d.Name] = l
	return nil
}
