// Package consultant is the automatic search: it tests hypotheses (why) at foci (where) in phases (when), refines what
// is true, and says what it found, how sure it is, what it ruled out and what it never tested.
//
// It must not know how anything is measured: it imports the vocabulary (grid) and the hypotheses (pcl), never the
// daemon. What it wants measured it asks of Config.Grid; how a focus is refined it asks of Config.World.
//
// Goroutines: one goroutine runs Search.Run; it alone calls Config.Grid, Config.World.Refinements and Weight, and Config.OnEvent. All other
// methods of Search may be called from any goroutine at any time. Search.mu guards the graph; it is never held while
// Config.World, Config.OnEvent or a method of Config.Grid that may stop the target is called (reading a histogram does
// not), so a slow target does not stop the screens.
package consultant
