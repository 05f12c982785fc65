// Package serve is the daemon's end of a connection: it obeys the commands of package wire and tells what happens in
// batches of events. The other end is package remote.
//
// It never waits for its reader: what is to be told is collected, and a reader that takes nothing for too long is left, as
// is one that is silent for too long or sends what is not understood. Whenever a connection ends, the probes are removed.
//
// It imports grid and grid/wire. It must not know why something is measured (consultant) or for whom (session).
//
// Lock order: server.mu and outbox.mu are leaves; nothing of the daemon is called while one of them is held.
package serve
