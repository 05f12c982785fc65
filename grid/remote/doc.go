// Package remote is the session's end of a connection to a daemon: it gives commands and keeps a picture of what the daemon
// tells, so that most questions are answered without asking. The other end is package serve of the daemon.
//
// It imports grid and grid/wire only. A Daemon is safe for use from any goroutine. Values are given to sinks by the goroutine
// that reads; no lock is held meanwhile.
package remote
