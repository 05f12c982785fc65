package pcl

import (
	"culprit/grid"
	"culprit/pcl/syntax"
)

// Flags restrict a metric by the code of it that is "constrained". One without the other would count something else than it says.

// waitsForFlags refuses code that waits for flags in a metric that has none.
func (m *metric) waitsForFlags() (err error) {
	if len(m.constraints) > 0 {
		return nil
	}
	anyStmt(m.base.block, func(s *syntax.Stmt) bool {
		if s.Constrained {
			err = errorAt(s.ConstrainedPos, "metric %s: found constrained in a metric without a constraint, expected the item constraint procedureInclusive; (or another one) that it waits for, or the code without the word",
				m.ident)
		}
		return s.Constrained
	})
	return err
}

// restricts refuses a focus whose flags no code of the base waits for: the value would be that of the whole program.
func (x *matching) restricts(m *metric, focus grid.Focus) error {
	if len(x.flags) == 0 || !hasInsertions(m.base.block) || hasConstrained(m.base.block) {
		return nil
	}
	return errorAt(m.base.pos, "metric %s at %v: no code of its base is constrained, so that %s restricts nothing: write append preInsn ... constrained (* ... *)",
		m.Name, focus, x.flags[0].ident)
}

func hasConstrained(s *syntax.Stmt) bool {
	return anyStmt(s, func(s *syntax.Stmt) bool { return s.Constrained })
}

func hasInsertions(s *syntax.Stmt) bool {
	return anyStmt(s, func(s *syntax.Stmt) bool { return s.Kind == syntax.Instr })
}
