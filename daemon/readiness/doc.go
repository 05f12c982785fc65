// Package readiness tells what a thread waits for in poll, select and epoll_wait: these calls say only that some descriptor is ready, and
// whether the thread has nothing to do or waits for an answer depends on which descriptors those are.
//
//	descriptors                                       the thread
//	sockets that the process has connected, only      waits for an answer of the other end
//	one such socket over the network, and one event
//	of the process's own, not by epoll                the same: the event is to end the wait
//	no sockets, but events of other threads           is told by another thread, or has nothing to do: its stack says which
//	sockets that others have connected, or a mixture  is an event loop, or waits for its next request, or does so within one: the same
//	none                                              sleeps
//
// Nothing is believed of a process: how many descriptors are read is bounded, and one that is closed meanwhile is left out.
//
// It must not know stacks, targets or metrics. A Reader is for one goroutine at a time.
package readiness
