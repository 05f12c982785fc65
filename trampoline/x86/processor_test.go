package x86

import (
	"math/rand"
	"slices"
	"syscall"
	"testing"
)

// TestProcessor asks the processor for lengths: an instruction whose last byte lies in an unmapped page faults on fetching it,
// and one that ends with the page does not. Random instructions of every map that only go on are tried.
func TestProcessor(t *testing.T) {
	n := 40_000
	if *long {
		n = 1_000_000
	}
	m, rnd := newMachine(t), rand.New(rand.NewSource(19))
	ran, illegal, bad := 0, 0, 0
	for range n {
		code := randomInst(rnd)
		in, err := Decode(code, edgeAt)
		if err != nil || in.Flow != FlowNext || in.Len < 2 || emulated(in) {
			continue
		}
		regs := m.boot
		regs.Orig_rax = ^uint64(0)
		for i := range 16 {
			*reg(&regs, i) = dataMid
		}
		whole, at := m.edge(regs, code[:in.Len], in.Len)
		if whole == syscall.SIGILL || whole == syscall.SIGSEGV && at == edgeEnd && m.unknown(regs, code) {
			illegal++ // not in this processor, or a register combination that it refuses
			continue
		}
		ran++
		if whole == syscall.SIGSEGV && at == edgeEnd {
			bad++
			t.Errorf("% x: the processor fetches more than %d bytes", code, in.Len)
		}
		if sig, at := m.edge(regs, code[:in.Len], in.Len-1); sig != syscall.SIGSEGV || at != edgeEnd {
			bad++
			t.Errorf("% x: the processor needs less than %d bytes (%v at %#x)", code[:in.Len], in.Len, sig, at)
		}
		if bad > 20 {
			t.Fatal("too many differences")
		}
	}
	t.Logf("%d lengths confirmed, %d illegal here", ran, illegal)
	if ran < n/10 {
		t.Errorf("only %d of %d cases ran", ran, n)
	}
}

// emulated says whether the kernel executes the instruction in the processor's stead (sgdt, sidt, sldt, smsw, str under
// UMIP), or a virtual machine's host does (cpuid); they fetch the bytes in their own way.
func emulated(in Inst) bool { return in.Opcode == 0x100 || in.Opcode == 0x101 || in.Opcode == 0x1A2 }

// unknown says whether the processor refuses the instruction when it can fetch all it wants: some fetch operands for an opcode that they
// have with another prefix only (AMD's bytes behind 0f 78, which is vmread elsewhere).
func (m *machine) unknown(regs syscall.PtraceRegs, code []byte) bool {
	sig, _ := m.edge(regs, code, len(code))
	return sig == syscall.SIGILL
}

// edge puts the first n bytes of code before the end of the page and executes there.
func (m *machine) edge(regs syscall.PtraceRegs, code []byte, n int) (syscall.Signal, uint64) {
	m.write(edgeEnd-uint64(n), code[:n])
	return m.step(regs, edgeEnd-uint64(n))
}

// knownMaps are the opcode maps that current processors have.
func knownMaps() (maps []int) {
	for m := range tables {
		if tables[m] != nil && m&mapXOP == 0 {
			maps = append(maps, m)
		}
	}
	return maps
}

// randomInst returns 15 bytes that begin like an instruction of a random map.
func randomInst(rnd *rand.Rand) []byte {
	maps := knownMaps()
	return randomOf(rnd, maps[rnd.Intn(len(maps))])
}

// randomOf returns 15 bytes that begin like an instruction of a map.
func randomOf(rnd *rand.Rand, m int) []byte {
	code := make([]byte, MaxLen)
	rnd.Read(code)
	op := rnd.Intn(256)
	v := variants(m, op, rnd.Intn(4), byte(rnd.Intn(256)))
	if len(v) == 0 {
		return code
	}
	head := v[rnd.Intn(len(v))]
	head = head[:slices.Index(head, byte(op))+1] // behind it random ModRM, SIB, displacement, immediate
	if m&(mapVEX|mapEVEX) == 0 && rnd.Intn(2) == 0 {
		head = withREX(head, byte(0x40|rnd.Intn(16)))
	}
	copy(code, head)
	return code
}

// withREX puts a REX prefix behind the legacy ones.
func withREX(head []byte, rex byte) []byte {
	i := 0
	for i < len(head)-1 && prefixOf[head[i]] != 0 {
		i++
	}
	return slices.Insert(slices.Clone(head), i, rex)
}

// reg returns register n by its number in the encoding.
func reg(g *syscall.PtraceRegs, n int) *uint64 {
	return [...]*uint64{&g.Rax, &g.Rcx, &g.Rdx, &g.Rbx, &g.Rsp, &g.Rbp, &g.Rsi, &g.Rdi, &g.R8, &g.R9, &g.R10, &g.R11, &g.R12, &g.R13, &g.R14, &g.R15}[n]
}
