// Package daemon is everything beside the target: it attaches to processes, patches trampolines into them, reads their
// counters and timers without stopping anyone, and leaves nothing behind.
//
// It implements grid.Instrumenter and grid.Axis. It must not know why something is measured (package consultant) or how it
// is shown. Machine code is made by package trampoline, processes are stopped and written by package daemon/process, files
// are read by daemon/image, and the kernel's own accounting by daemon/kernel.
//
// Lock order: Daemon.enabling (one batch at a time), then Daemon.mu (pairs, sites, cells), then the locks of the rooms below.
// The sampler takes mu only; a batch holds mu while it computes and patches, and gives it up while it waits for call rates.
package daemon
