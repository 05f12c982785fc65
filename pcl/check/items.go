package check

import (
	"slices"
	"strings"

	"culprit/pcl/syntax"
)

// items gives access to the items of a definition by their key and reports those that are there twice.
func uniqueItems(d *syntax.Def, many ...string) (map[string]*syntax.Item, error) {
	out := map[string]*syntax.Item{}
	for _, it := range d.Items {
		if slices.Contains(many, it.Key) {
			continue
		}
		if _, ok := out[it.Key]; ok {
			return nil, syntax.ErrorAt(it.Pos, "%s %s: found %q a second time, expected it once", d.Keyword, d.Name, it.Key)
		}
		out[it.Key] = it
	}
	return out, nil
}

func texts(it *syntax.Item) []string {
	if it == nil {
		return nil
	}
	var out []string
	for _, v := range it.Values {
		out = append(out, v.Text)
	}
	return out
}

// first is the text of the only value of an item, or "" if there is no such item.
func first(it *syntax.Item) string {
	if it == nil || len(it.Values) == 0 {
		return ""
	}
	return it.Values[0].Text
}

func require(d *syntax.Def, have map[string]*syntax.Item, keys ...string) error {
	var missing []string
	for _, k := range keys {
		if have[k] == nil {
			missing = append(missing, k)
		}
	}
	if len(missing) > 0 {
		return syntax.ErrorAt(d.Pos, "%s %s: expected the item %s, which is missing", d.Keyword, d.Name, strings.Join(missing, ", "))
	}
	return nil
}

// oneOf returns the index of the item's word, or the error that lists the words.
func oneOf(it *syntax.Item, allowed ...string) error {
	if w := it.Values[0]; !slices.Contains(allowed, w.Text) {
		return syntax.ErrorAt(w.Pos, "found %q, expected %s %s%s", w.Text, it.Key, strings.Join(allowed, " or "), syntax.DidYouMean(w.Text, allowed))
	}
	return nil
}
