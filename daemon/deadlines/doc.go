// Package deadlines has the kernel tell when waits would have ended that a stop breaks into. A thread that waits for a limited time has
// a timer of high resolution; when something else wakes it up it cancels the timer, whose time can be read in that moment, and only then.
//
// The kernel looks for such timers while somebody asks for them, which is around stops. It imports nothing of the house. The program that does
// so goes with this process, however it ends. Everything may be called from any goroutine.
package deadlines
