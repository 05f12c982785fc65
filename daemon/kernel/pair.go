package kernel

// LoadPair reads 16 bytes at once, which must be writable and lie at a multiple of 16 (else the processor faults): two words that somebody
// else changes together, by lock cmpxchg16b. The processor must have that instruction.
func LoadPair(p *[2]uint64) (first, second uint64)
