package trampoline

import (
	"strings"

	"culprit/trampoline/x86"
)

// Programs write one path in many ways: "/var//log/x" and "/var/./log/x" are what the kernel calls "/var/log/x". What is left out here is
// what no link and no file can change. "..", which leads elsewhere where the directory before it is a link, stays.

// shortPath is a path without its needless signs: the slow twin of what samePath does to a copy.
func shortPath(path string) string {
	rooted := strings.HasPrefix(path, "/")
	parts := strings.Split(path, "/")
	kept := parts[:0]
	for i, p := range parts {
		if i == len(parts)-1 || p != "" && p != "." {
			kept = append(kept, p)
		}
	}
	short := strings.Join(kept, "/")
	if rooted {
		return "/" + short
	}
	return short
}

// samePath leaves 1 in rax if the path that was read is that of the expression, else 0. The copy is made shorter where it lies: r10 reads it up to
// rax, r9 writes.
func (g *generator) samePath(e *Expr) {
	fails, over := g.NewLabel(), g.NewLabel()
	g.CmpRI(x86.RAX, 0)
	g.JccNear(x86.CondLE, fails)
	g.Lea(x86.R10, x86.RSP, iovecs)
	g.MovRR(x86.R9, x86.R10)
	g.AddRR(x86.RAX, x86.R10)
	g.shorten(fails)
	g.compareText(e.Text+"\x00", fails)
	g.MovImm32(x86.RAX, 1)
	g.JmpNear(over)
	g.Bind(fails)
	g.MovImm32(x86.RAX, 0)
	g.Bind(over)
}

// shorten writes the path at r10 to r9 without its needless signs, up to its end, and leaves for endless if that is not before rax. A sign is
// in rsi. What is before the first, in the iovecs that are not needed any more, passes for a slash: a relative path may begin with "./".
func (g *generator) shorten(endless x86.Label) {
	next, put, end, kept := g.NewLabel(), g.NewLabel(), g.NewLabel(), g.NewLabel()
	g.MovImm32(x86.RSI, '/')
	g.MovMR8(x86.R9, -1, x86.RSI)
	g.MovSizedRM(x86.RSI, x86.R10, 0, 1, false)
	g.Lea(x86.R10, x86.R10, 1)
	g.CmpRI32(x86.RSI, '/')
	g.JccNear(x86.CondE, put)
	g.Lea(x86.R10, x86.R10, -1)

	g.Bind(next)
	g.CmpRR(x86.R10, x86.RAX)
	g.JccNear(x86.CondE, endless)
	g.MovSizedRM(x86.RSI, x86.R10, 0, 1, false)
	g.Lea(x86.R10, x86.R10, 1)
	g.TestRR(x86.RSI, x86.RSI)
	g.JccNear(x86.CondE, end)
	g.CmpRI32(x86.RSI, '/')
	g.JccNear(x86.CondNE, put)
	g.MovSizedRM(x86.RDX, x86.R9, -2, 2, false)
	g.CmpRI32(x86.RDX, '/'|'.'<<8)
	g.JccNear(x86.CondNE, kept)
	g.Lea(x86.R9, x86.R9, -1)
	g.Bind(kept)
	g.MovSizedRM(x86.RDX, x86.R9, -1, 1, false)
	g.CmpRI32(x86.RDX, '/')
	g.JccNear(x86.CondE, next)

	g.Bind(put)
	g.MovMR8(x86.R9, 0, x86.RSI)
	g.Lea(x86.R9, x86.R9, 1)
	g.JmpNear(next)

	g.Bind(end)
	g.MovMR8(x86.R9, 0, x86.RSI)
}
