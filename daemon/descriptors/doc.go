// Package descriptors sees to it that this process can open the files that it needs to leave its targets. To leave a target takes descriptors:
// its mappings, its threads and the files of its code are opened for it. A session that has used up what this process may open would leave its
// probes in. So some are kept back from the first attach to the end, and an attach for which the others would not do is refused.
//
// It must not know what is measured. Nothing in it has a lock: a Reserve is used by one goroutine at a time.
package descriptors
