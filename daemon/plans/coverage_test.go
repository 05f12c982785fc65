package plans

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"culprit/daemon/image"
	"culprit/daemon/program"
	"culprit/internal/require"
	"culprit/trampoline"
	"culprit/trampoline/planner"
	"culprit/trampoline/x86"
)

var long = flag.Bool("long", false, "look at all listed objects")

// listedObjects are those of which at least coverageAim percent of the functions must have an entry and exits that can be
// reached. The quick form leaves out the largest.
var listedObjects = []struct {
	name  string
	quick bool
}{
	{"libc.so.6", true}, {"libstdc++.so.6", true}, {"redis-server", true}, {"nginx", true}, {"sqlite3", true},
	{"libpython3*.so.1.0", true}, {"libcrypto.so.3", true}, {"postgres", false}, {"gdb", false},
}

const (
	coverageAim = 99.0
	ruleAim     = 2.5 // percent of the functions that may be left out for what they are
)

// TestCoverage holds how many functions of system libraries and large programs can be instrumented, and that every way which
// their plans promise is one: in a copy of the text with all jumps of all functions in place, each site leads into its
// trampoline, and no two share a byte.
func TestCoverage(t *testing.T) {
	for _, c := range listedObjects {
		if !c.quick && !*long {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			o := openObject(t, require.Object(t, c.name))
			r := NewReport()
			text := &patchedText{o: o, bytes: map[uint64]byte{}, owner: map[uint64]string{}}
			r.add(o, func(f *Function) { text.instrument(t, f) })
			text.follow(t)
			t.Logf("%s: %d of %d functions, %d must not be touched: %.2f %%; %v; %d bytes changed at %d sites", o.Name, r.Instrumentable, r.Functions,
				r.ByRule, r.Coverage, r.Tactics, len(text.bytes), len(text.sites))
			for _, p := range r.RefusedNames {
				if !p.ByRule {
					t.Logf("refused: %s: %s", p.Name, p.Reason)
				}
			}
			if r.Coverage < coverageAim || 100*float64(r.ByRule) > ruleAim*float64(r.Functions) {
				t.Errorf("%.2f %% can be instrumented, want %g; %d of %d must not be touched", r.Coverage, coverageAim, r.ByRule, r.Functions)
			}
			if r.Functions-r.Instrumentable != len(r.RefusedNames)+r.RefusedMore {
				t.Errorf("%d refused functions are listed, of %d", len(r.RefusedNames)+r.RefusedMore, r.Functions-r.Instrumentable)
			}
		})
	}
}

func openObject(t *testing.T, path string) *program.Object {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	o, err := image.Open(f, st.Size(), filepath.Base(path))
	if err != nil {
		t.Fatal(err)
	}
	return &program.Object{Object: o, Name: o.Name()}
}

// A patchedText is what the text of an object would be with all of its functions instrumented.
type patchedText struct {
	o     *program.Object
	bytes map[uint64]byte
	owner map[uint64]string
	sites []patchedSite
	room  uint64
}

// A patchedSite is where a thread must come to from addr.
type patchedSite struct {
	name string
	site *planner.Site
	way  planner.Way
}

// instrument writes the jumps of a function's entry and exits.
func (p *patchedText) instrument(t *testing.T, f *Function) {
	t.Helper()
	if p.room == 0 {
		segs := p.o.Segments()
		last := segs[len(segs)-1]
		p.room = (last.Vaddr+last.MemSize)&^0xfff + 1<<20
	}
	var served []*planner.Site
	for _, pt := range slices.Concat(f.Entry(), f.Exits()) {
		if s, _ := f.plan.SiteOf(pt); s != nil && !slices.Contains(served, s) {
			served = append(served, s)
		}
	}
	for _, s := range served {
		p.site(t, f.Fn.Name, s)
	}
}

func (p *patchedText) site(t *testing.T, name string, s *planner.Site) {
	t.Helper()
	env := trampoline.Env{Geometry: trampoline.DefaultGeometry(1), DataAddr: 0x7f0000000000, ClaimsAddr: 0x7e0000000000, SlowAddr: p.room &^ 0xfff, GateAddr: p.room &^ 0xfff}
	groups := make([][]trampoline.Group, len(s.Marks))
	for i := range groups {
		groups[i] = []trampoline.Group{{Owner: 1, Minis: []trampoline.Mini{{Op: trampoline.Add, Cell: 64, Expr: &trampoline.Expr{Value: 1}}}}}
	}
	b, err := trampoline.Generate(&env, s, groups, p.room)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	way := b.Way(p.room)
	p.room += uint64(len(b.Code)+63) &^ 63
	if s.Tactic == planner.Punned {
		way.Site = s.FirstPunStub(way.Site + 64<<20)
		way.Host, _ = s.PunStub(way.Site, way.Site+8)
	}
	pieces, err := s.Patch(way)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	p.sites = append(p.sites, patchedSite{name, s, way})
	for _, pc := range pieces {
		p.write(t, name, pc)
	}
}

// write puts a piece into the copy; a byte may change once, and a piece lies in one page of code.
func (p *patchedText) write(t *testing.T, name string, pc planner.Piece) {
	t.Helper()
	if _, err := p.o.Code(pc.Addr, pc.Addr+uint64(len(pc.Bytes))); err != nil || pc.Addr/trampoline.PageSize != (pc.Addr+uint64(len(pc.Bytes))-1)/trampoline.PageSize {
		t.Errorf("%s: %d bytes at %#x: %v", name, len(pc.Bytes), pc.Addr, err)
	}
	for i, b := range pc.Bytes {
		at := pc.Addr + uint64(i)
		if other, taken := p.owner[at]; taken {
			t.Errorf("the byte at %#x belongs to %s and to %s", at, other, name)
		}
		p.bytes[at], p.owner[at] = b, name
	}
}

// follow goes from every site, and from every instruction that made room, to where it leads.
func (p *patchedText) follow(t *testing.T) {
	t.Helper()
	for _, s := range p.sites {
		if got := p.leads(s.site.Addr); got != s.way.Site {
			t.Errorf("%s: from %#x (%s) control comes to %#x, want %#x", s.name, s.site.Addr, s.site.Tactic, got, s.way.Site)
		}
		if h := s.site.Host; h != nil {
			if got := p.leads(h.Addr); got != s.way.Host {
				t.Errorf("%s: from %#x, which makes room, control comes to %#x, want %#x", s.name, h.Addr, got, s.way.Host)
			}
		}
	}
}

// leads follows direct branches in the patched text until one leads out of what was changed.
func (p *patchedText) leads(at uint64) uint64 {
	for range 3 {
		var code [x86.MaxLen]byte
		for i := range code {
			code[i] = p.at(at + uint64(i))
		}
		in, err := x86.Decode(code[:], at)
		if err != nil || !in.Direct() {
			return at
		}
		if at = in.Target; p.owner[at] == "" {
			return at
		}
	}
	return 0
}

func (p *patchedText) at(addr uint64) byte {
	if b, ok := p.bytes[addr]; ok {
		return b
	}
	if code, err := p.o.Code(addr, addr+1); err == nil {
		return code[0]
	}
	return 0xCC
}

// TestRefusedByRule: what must not be touched in the C library is refused by name, whatever its code looks like.
func TestRefusedByRule(t *testing.T) {
	r, err := ReportOf(require.Object(t, "libc.so.6"))
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]RefusedFunction{}
	for _, p := range r.RefusedNames {
		of[p.Name] = p
	}
	for name, why := range map[string]string{"setjmp": "setjmp", "_setjmp": "setjmp", "vfork": "vfork", "clone": "vfork", "swapcontext": "context switch",
		"setcontext": "context switch", "memcpy": "resolver", "strlen": "resolver", "mcount": "profiling hook"} {
		if p, ok := of[name]; !ok || !p.ByRule || !strings.Contains(p.Reason, why) {
			t.Errorf("%s: %s", name, fmt.Sprint(p))
		}
	}
	if r.ByRule < 40 || r.Refused == nil {
		t.Errorf("%d functions are refused by rule", r.ByRule)
	}
}
