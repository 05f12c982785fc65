package trampoline

import (
	"errors"

	"culprit/trampoline/x86"
)

// Which open file a descriptor stands for is kept in a table in the segment, a word for each descriptor: whoever samples writes the
// number of the file there, and a probe reads it. Descriptors are used again: a probe where one is closed takes the number out, so that
// what the next file moves is not counted as the last one's. The upper half of a word counts how often that was done; the writer
// outside replaces a word only if it is as it was before he looked at the descriptor.

// MaxDescriptors is how many descriptors the table has room for; those above are never known.
const MaxDescriptors = 1 << 16

// FilesSize is the size of the table in bytes.
const FilesSize = MaxDescriptors * WordSize

// Renewed is the word of a descriptor that stands for a file with this number from now on, after a word.
func Renewed(word uint64, file uint32) uint64 { return (word>>32+1)<<32 | uint64(file) }

// ofFiles tells whether the operation belongs to this file.
func (e *Expr) ofFiles() bool { return e.Op == ExFile || e.Op == ExRenew }

var errNoFiles = errors.New("there is no table of open files")

// openFile emits an operation on the table; its value is left in rax.
func (g *generator) openFile(e *Expr) error {
	if g.env.FilesAddr == 0 {
		return errNoFiles
	}
	if e.Op == ExRenew {
		return g.renewFile(e)
	}
	if err := g.eval(e.L); err != nil {
		return err
	}
	none, end := g.NewLabel(), g.NewLabel()
	g.fileWord(none)
	g.MovSizedRM(x86.RAX, x86.RAX, 0, 4, false)
	g.Jmp(end)
	g.Bind(none)
	g.MovImm32(x86.RAX, 0)
	g.Bind(end)
	return nil
}

// fileWord turns the descriptor in rax into the address of its word, by way of rdx, and leaves for none if it has no word. An int has
// no defined upper half.
func (g *generator) fileWord(none x86.Label) {
	g.MovSizedRR(x86.RAX, x86.RAX, 4, false)
	g.CmpRI(x86.RAX, MaxDescriptors)
	g.Jcc(x86.CondAE, none)
	g.ShlRI(x86.RAX, 3)
	g.MovImm64(x86.RDX, g.env.FilesAddr)
	g.AddRR(x86.RAX, x86.RDX)
}

// renewFile makes the descriptor L stand for the file with the number R, or for none that is known. The word is written once.
func (g *generator) renewFile(e *Expr) error {
	file := e.R
	if file == nil {
		file = &Expr{}
	}
	if err := g.eval(file); err != nil {
		return err
	}
	g.MovSizedRR(x86.RAX, x86.RAX, 4, false)
	g.push(x86.RAX)
	if err := g.eval(e.L); err != nil {
		return err
	}
	none := g.NewLabel()
	g.fileWord(none)
	g.MovRM(x86.RDX, x86.RAX, 0)
	g.ShrRI(x86.RDX, 32)
	g.AddRI(x86.RDX, 1)
	g.ShlRI(x86.RDX, 32)
	g.AddRM(x86.RDX, x86.RSP, 0)
	g.MovMR(x86.RAX, 0, x86.RDX)
	g.Bind(none)
	g.pop(x86.RDX)
	g.MovImm32(x86.RAX, 0)
	return nil
}
