package libc

// A stdio stream of glibc for x86-64: struct _IO_FILE in bits/types/struct_FILE.h. Whatever makes one (libio/iofopen.c, iopopen.c, memstream.c,
// iofopncook.c) puts its lock behind it, into the same memory. The streams that every program has have theirs elsewhere.
const (
	StreamFlags  = 0   // offset of 4 bytes with flags
	StreamNumber = 112 // offset of the 4 bytes with its descriptor
	StreamLock   = 136 // offset of the address of its lock
	leastStream  = 216 // bytes from its beginning to a lock behind it
	mostStream   = 272
)

// StreamHasNumber is the flag of a stream that has a descriptor, if that is not negative (_IO_IS_FILEBUF in libio/libio.h). Streams into memory and into
// functions of the program have none.
const StreamHasNumber = 0x2000

// The address of a stream's lock is StreamFrom to StreamTo bytes in front of the lock itself.
const (
	StreamFrom = mostStream - StreamLock
	StreamTo   = leastStream - StreamLock
)
