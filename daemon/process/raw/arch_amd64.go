package raw

// SyscallLength is the length of the instruction syscall (0f 05) in bytes.
const SyscallLength = 2
