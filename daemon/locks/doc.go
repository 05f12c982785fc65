// Package locks knows the locks of a process: what threads wait for that is memory, by name, and until when each lives. Names are the
// resources of /SyncObject, and $constraint[0] of PCL is the address of a lock.
//
// A lock becomes known when a thread is seen waiting for it, or when a probe has seen it being taken. Its memory may become another lock later.
// Where a name comes from (a variable, the object on the heap that the lock lies in) is asked through Names: the package reads no file and walks
// no stack. It must not import what patches or measures, nor daemon/image, daemon/process or pcl.
//
// A Table has one lock, which is a leaf but for the tree of resources; names are asked for without it. Methods may be called from any goroutine. Holders
// has none and belongs to whoever locks it.
package locks
