// Package grid is the vocabulary of the house: resource hierarchies, focus, metric, the folding time histogram, phases,
// and the metric-focus grid through which anyone asks for a metric at a focus and reads its values.
//
// It imports nothing else of the house; it does not know how something is measured (Instrumenter) nor why it is wanted.
//
// Goroutines: every exported function and method may be called from any goroutine unless its comment says otherwise.
// Focus, Metric, PairKey, Phase and Snapshot are values. Callbacks (Subscribe, NewFoldGroup) run on the goroutine that
// caused the change, with no lock of this package held; they must not block, and must not call Enable or Disable.
//
// Lock order: Grid.wish (one batch to the Instrumenter at a time), then Grid.mu (pairs and phases), then the mutex of a
// FoldGroup (all histograms that share a start). Tree.mu stands alone. Nothing is called outside this package with
// Grid.mu or a group's mutex held; the Instrumenter is called with Grid.wish held.
package grid
