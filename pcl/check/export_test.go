package check

import (
	"culprit/grid"
	"culprit/pcl"
)

// What the tests of this package know of its words and bounds.
var (
	Environment  = environment
	Fields       = fields
	Flavors      = flavors
	Hierarchies  = hierarchies
	NotYet       = notYet
	Placeholders = placeholders
	ReadText     = readText
	ViewWords    = viewWords
	AnyStmt      = anyStmt
)

const MaxProblems = maxProblems

// Levels are the names below the hierarchies whose first level is fixed, as a library has them.
func Levels(l *pcl.Library) map[grid.Hierarchy][]string {
	lists := map[string]*pcl.List{kindsList: l.List(kindsList)}
	return map[grid.Hierarchy][]string{grid.SyncObject: levels(grid.SyncObject, lists), grid.IO: levels(grid.IO, lists)}
}
