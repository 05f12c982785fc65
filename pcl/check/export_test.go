package check

// What the tests of this package know of its words and bounds.
var (
	Environment  = environment
	Fields       = fields
	Flavors      = flavors
	Hierarchies  = hierarchies
	Levels       = levels
	NotYet       = notYet
	Placeholders = placeholders
	ReadText     = readText
	ViewWords    = viewWords
	AnyStmt      = anyStmt
)

const MaxProblems = maxProblems
