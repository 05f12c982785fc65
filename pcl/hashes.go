package pcl

import (
	"regexp"

	"culprit/pcl/syntax"
)

// rustHash is what the compiler of Rust puts behind a name; it changes with each build.
var rustHash = regexp.MustCompile(`::h[0-9a-f]{16}$`)

// hashes tells of names of functions that hold for one build only: functions are known by their names without the hash.
func (w *warner) hashes(d *syntax.Def) {
	tell := func(pos syntax.Pos, name string) {
		if at := rustHash.FindStringIndex(name); at != nil {
			w.warn(pos, "%s %s: found the name %q with the hash of one build, expected it without: %q", d.Keyword, d.Name, name, name[:at[0]])
		}
	}
	look := func(e *syntax.Expr) bool {
		if e.Kind == syntax.Literal {
			tell(e.Pos, e.Text)
		}
		return true
	}
	if d.Base != nil {
		d.Base.Body.Walk(look)
	}
	for _, it := range d.Items {
		if it.Base != nil {
			it.Base.Body.Walk(look)
		}
		if it.Def != nil {
			w.hashes(it.Def)
		}
		if it.Key == "items" {
			for _, v := range it.Values {
				tell(v.Pos, v.Text)
			}
		}
	}
}
