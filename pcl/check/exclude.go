package check

import (
	"regexp"
	"strings"

	"culprit/pcl"
	"culprit/pcl/syntax"
)

func (b *builder) checkExclude(d *syntax.Def) error {
	if err := b.checkPattern(d.Pos, d.Text, d.Regex); err != nil {
		return err
	}
	if len(b.defs.Excludes) == maxExcludes {
		return syntax.ErrorAt(d.Pos, "found more than %d exclude statements, expected less; one pattern may cover many names", maxExcludes)
	}
	expr := d.Text
	if !d.Regex {
		expr = pcl.GlobRegexp(expr)
	}
	flags := "s"
	if d.NoCase {
		flags = "si"
	}
	re, err := regexp.Compile("^(?" + flags + ":" + expr + ")$")
	if err != nil {
		return badPattern(d.Pos, err)
	}
	if !d.Regex && !strings.HasPrefix(d.Text, "/Code/") {
		return syntax.ErrorAt(d.Pos, "exclude: found %q, expected /Code/module or /Code/module/function", d.Text)
	}
	b.defs.Excludes = append(b.defs.Excludes, pcl.Exclusion{Pos: d.Pos, Pattern: re})
	return nil
}
