// Package consultant is the automatic search. It tests hypotheses (why) at foci (where) in phases (when), refines what is
// true, and says what it found, how sure it is, what it ruled out and what it never tested.
//
// It must not know how anything is measured. It imports the vocabulary (grid), the hypotheses (pcl) and its own parts,
// never the daemon. What it wants measured it asks of Config.Grid; what else it must know it asks of Config.World.
//
// Its parts are pure and know nothing of the search: decide is the statistics of a test, bins puts readings and histograms side by side, samples says what
// stack samples tell of a test, refine finds what a focus is refined to, later says which ways are walked again, links keeps lists and walks, foci tells which
// foci cover one, budget is what the search may take of the program and what its pairs take, lifecycle has the states of a node, victims says which findings
// explain others, explain writes sentences, history is what a value was over time, earlier keeps what held and is over, mpi judges the ranks of a job.
//
// The search itself is a graph of nodes (graph.go). A node changes its state only by the transitions of transitions.go. One turn of the search (Search.tick)
// reads new values and concludes from them (observe.go), refines what is true (where.go, expand.go, grow.go), walks ways again for what appears later
// (later.go), begins candidates that the budget admits (order.go, admit.go), stops what costs too much (shed.go), and enables and disables pairs (pairs.go).
//
// Goroutines: one goroutine runs Search.Run. It alone calls Config.OnEvent, methods of Config.Grid that may stop the target, and those methods of Config.World
// of which World does not say otherwise. All other methods of Search may be called from any goroutine at any time. Search.mu guards the graph. It is not held
// while Config.OnEvent, Config.World.Refinements, Weight or Source, or a method of Config.Grid that may stop the target, is called (reading a histogram does
// not), so a slow target does not stop the screens. Locks of the grid and of the world are taken below Search.mu.
package consultant
