package check

import (
	"maps"
	"regexp/syntax"
	"slices"

	text "culprit/pcl/syntax"
)

// Bounds on what a library may hold, beside those of the parser: a text is anybody's, and loading it must end soon and in
// little memory.
const (
	maxCounters    = 100     // of one metric; each is a cell in the block of every thread
	maxConstraints = 100     // of one metric
	maxExcludes    = 1000    // each is tried on every function
	maxPattern     = 1000    // bytes of one pattern
	maxPatterns    = 100_000 // parts of all regular expressions, as often as they repeat; a compiled part takes some 100 bytes
	maxNames       = 2000    // names among which a similar one is looked for
)

// names are the sorted keys of a table, for a suggestion; nil where there are too many, or where nobody will read it.
func names[T any](b *builder, table map[string]T) []string {
	if len(table) > maxNames || b.problems.full() {
		return nil
	}
	return slices.Sorted(maps.Keys(table))
}

// tunableNames are those of the tunable constants, for a suggestion.
func (b *builder) tunableNames() []string {
	if names := b.defs.Tunables.Names(); len(names) <= maxNames && !b.problems.full() {
		return names
	}
	return nil
}

// checkPattern parses a glob or a regular expression and takes its size off what the library may have.
func (b *builder) checkPattern(pos text.Pos, pattern string, regex bool) error {
	if len(pattern) > maxPattern {
		return text.ErrorAt(pos, "found a pattern of %d bytes, expected at most %d; write several", len(pattern), maxPattern)
	}
	if !regex {
		b.patterns += len(pattern)
	} else {
		re, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			return badPattern(pos, err)
		}
		b.patterns += size(re)
	}
	if b.patterns > maxPatterns {
		return text.ErrorAt(pos, "found patterns with more than %d parts in all, expected less; repeat less often or use a glob", maxPatterns)
	}
	return nil
}

func badPattern(pos text.Pos, err error) error {
	return text.ErrorAt(pos, "found a bad regular expression (%v), expected one of Go's syntax, such as \"^x.*y$\"", err)
}

// size is about how many instructions an expression is compiled to.
func size(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		n += size(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, maxPatterns+1)
}
