// Package syntax reads and writes the text of PCL, the language of metrics, constraints and hypotheses: lexer, tree,
// recursive descent parser and printer. It knows nothing of what the text means; names and types are checked in pcl.
//
// It imports nothing of the house. All functions are pure: any goroutine may call them, trees are not changed once
// Parse has returned them.
//
// Text is not trusted: its size, its nesting, the length of one expression and the number of errors reported are bounded.
package syntax
