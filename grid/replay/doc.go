// Package replay records what goes over a connection between a session and its daemon, and is a daemon that measures again
// what was recorded: a search, a screen or a visualisation runs on it as on a living program.
//
// A recording is a sequence of CBOR records, each with the time at which a message was seen. It holds what the session asked
// for at the time and no more: a pair that was not measured then is refused; of one that was measured for a part of the time
// the rest is taken to have gone on as it did on average.
//
// It imports grid and grid/wire only. A Daemon is safe for use from any goroutine; its mutex is a leaf.
package replay
