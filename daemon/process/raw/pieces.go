package raw

// A Piece is memory of the target that is read together with others.
type Piece struct {
	Addr Addr
	Buf  []byte // filled if Read
	Read bool   // all of it could be read
}

// ReadPieces fills as many of the pieces as can be read. Each takes a call of the kernel: process_vm_readv would take hundreds at once, but waits
// for whoever in the target is to bring a page (userfaultfd), who stands still.
func (f *File) ReadPieces(pieces []Piece) {
	for i := range pieces {
		p := &pieces[i]
		p.Read = f.Read(p.Addr, p.Buf) == nil
	}
}
