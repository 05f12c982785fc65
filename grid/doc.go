// Package grid is the common vocabulary of all packages: resource hierarchies, focus, metric, the folding time histogram, phases,
// and the metric-focus grid through which anyone asks for a metric at a focus and reads its values.
//
// It imports nothing else of the project. It must not know how something is measured (Instrumenter) nor why it is wanted.
//
// Goroutines: every exported function and method may be called from any goroutine unless its comment says otherwise.
// Focus, Metric, PairKey, Phase and Snapshot are values. Callbacks (Subscribe, NewFoldGroup) run on the goroutine that
// caused the change and may read the grid; they must not block, and must not call Enable, Disable, DisableAll or Drop.
//
// Lock order: Grid.wish (one batch to the Instrumenter at a time), then Grid.mu (pairs and phases), then the mutex of a
// FoldGroup (all histograms that share a start; of two groups the older first). Tree.mu stands alone. The Instrumenter
// and subscribers may be called with Grid.wish held; nothing outside this package is called with any other lock held.
package grid
