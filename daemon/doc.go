// Package daemon is everything beside the target: it attaches to processes, patches trampolines into them, reads their
// counters and timers without stopping anyone, and leaves nothing behind.
//
// It implements grid.Instrumenter and grid.Axis. It must not know why something is measured (package consultant) or how it
// is shown. Machine code is made by package trampoline, processes are stopped and written by package daemon/process, files
// are read by daemon/image, and the kernel's own accounting by daemon/kernel.
//
// Three sorts of locks, in this order:
//
//   - enabling is for who changes what is in the targets, who joins a process or buries one: one of these at a time. They may work for long.
//   - Each target has a lock (daemon/measuring.Process), for its code and what is in it. Only who has enabling works under it for long, and only he may
//     wait for a second one while he has one.
//   - mu is for the list of targets, the map of pairs, the parts of pairs, and what all targets have in common. Nobody who has it does what takes long, or
//     waits for a target for more than a millisecond: he leaves out targets that somebody works on.
//
// The list of targets and the map of pairs change under enabling and mu, so that either is enough to read them. A pass over the values leaves out a
// target that somebody works on; so a pair that has a part there gets its next value when that part can be read, for the whole time until then.
// The locks of the packages below come last.
package daemon
