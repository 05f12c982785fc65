// Package attach decides whether a process can be attached to, and when: whose probes are in it already, for whom to wait, which errors another
// try may be spared, and for which of them it is sampled instead of patched.
//
// It must not know what is done to a process that is attached to: that is a function it is given. It has no state: any goroutine may call it.
package attach
