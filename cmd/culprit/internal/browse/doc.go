// Package browse draws a session on a terminal: the verdict, the search history graph, and the list to pick a process from.
//
// What is shown is made by pure functions from a session.Snapshot (verdict.go, tree.go, evidence.go); drawing is apart
// (list.go, bar.go, render.go). It must not import the daemon, nor the search but for its plain data.
//
// Everything here runs on the one goroutine of the tview application, except that snapshots are taken on a goroutine of
// their own, so that a slow answer never freezes the keys. All text that comes from a target goes through clean before it
// is put into a span; spans are drawn cell by cell, without markup of any kind.
package browse
