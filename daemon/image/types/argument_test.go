package types

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"culprit/internal/require"
)

const argumentsC = `
#include <stdarg.h>
#define KEEP __attribute__((noinline, used))
typedef unsigned char byte;
enum mode { OFF, ON };
enum sign { MINUS = -1, PLUS };
struct peer { char tag[8]; const char *name; short port; };
typedef struct conn {
	int fd; unsigned flags : 3; unsigned more : 5;
	struct peer *peer;
	struct { long count; union { int i; byte b; } u; };
	struct peer self;
	double load;
	struct conn *next;
	enum sign sign;
	struct hidden *hidden;
	char grid[2][4];
	char rest[];
} conn_t;
struct two { int a, b; };
struct big { long x[3]; char name[16]; };
volatile long sink;
KEEP void plain(char c, byte b, short s, unsigned u, long l, const conn_t *p) { sink = c + b + s + u + l + p->fd; }
KEEP void many(int a, int b, int c, int d, int e, int f, signed char g, conn_t *h) { sink = a + b + c + d + e + f + g + h->fd; }
KEEP void floats(double x, int a, float y, const char *name, long double z, int stack) { sink = x + a + y + name[0] + z + stack; }
KEEP void values(struct two t, int n, struct big b, int m) { sink = t.a + n + b.x[1] + b.name[0] + m; }
KEEP struct big result(int n, conn_t *c) { struct big b = { { n, c->fd } }; sink = n; return b; }
KEEP void wide(__int128 w, int n, _Bool yes, enum mode m, enum sign s) { sink = w + n + yes + m + s; }
KEEP void any(int n, ...) { va_list l; va_start(l, n); sink = va_arg(l, long); va_end(l); }
KEEP void unused(int a, int b) { sink = b; }
KEEP void call(void (*f)(int), int argc, char **argv) { sink = argc + (argv != 0) + (f != 0); }
static KEEP void local(int unneeded, conn_t *c) { sink = c->fd; }
int main(void)
{
	static conn_t c; struct big b = { { 1 } }; struct two t = { 1, 2 };
	plain(1, 2, 3, 4, 5, &c); many(1, 2, 3, 4, 5, 6, 7, &c); floats(1, 2, 3, "x", 5, 6); values(t, 2, b, 4); b = result(3, &c);
	wide(1, 2, 1, ON, MINUS); any(1, 2L); unused(1, 2); call(0, 1, 0); local(9, &c);
	return 0;
}
`

// argumentCases: function, path, and the place or a part of the error.
var argumentCases = []struct{ fn, path, want string }{
	{"plain", "c", "r0 int8"},
	{"plain", "b", "r1 uint8"},
	{"plain", "s", "r2 int16"},
	{"plain", "u", "r3 uint32"},
	{"plain", "l", "r4 int64"},
	{"plain", "p", "r5 uint64"},
	{"plain", "p->fd", "r5 int32[0]"},
	{"plain", "p->peer->port", "r5 uint64[8] int16[16]"},
	{"plain", "p->count", "r5 int64[16]"},
	{"plain", "p->u.i", "r5 int32[24]"},
	{"plain", "p->u.b", "r5 uint8[24]"},
	{"plain", "p->self.port", "r5 int16[48]"},
	{"plain", "p->sign", "r5 int32[72]"},
	{"plain", "p->next->next->fd", "r5 uint64[64] uint64[64] int32[0]"},
	{"plain", "5->fd", "r5 int32[0]"},
	{"plain", "p->self.name text", "r5 uint64[40] text+0"},
	{"plain", "p->self.tag text", "r5 text+32/8"},
	{"plain", "p->peer->tag text", "r5 uint64[8] text+0/8"},
	{"plain", "p->rest text", "r5 text+96"},
	{"plain", "p->flags", "the field flags is a bit field"},
	{"plain", "p->load", "p->load is a floating-point number (double)"},
	{"plain", "p->self", "p->self is struct peer"},
	{"plain", "p->self.tag", "p->self.tag is an array"},
	{"plain", "p->fd text", "p->fd is a number of 4 bytes (int), expected char * or char []"},
	{"plain", "p->grid text", "p->grid is an array, expected char * or char []"},
	{"plain", "p->hidden->x", "struct hidden is only declared: DWARF has no definition of it"},
	{"plain", "p.fd", "p is a pointer: write ->fd"},
	{"plain", "p->self->port", "p->self is struct peer and no pointer: write .port"},
	{"plain", "l->x", "l is a number of 8 bytes (long"},
	{"plain", "p->fdd", `struct conn has no field "fdd" [fd flags more peer self load next sign hidden grid rest count u]`},
	{"plain", "q", `plain has no parameter "q" [c b s u l p]`},
	{"plain", "6", `plain has no argument "6" [c ($arg[0]) b ($arg[1]) s ($arg[2]) u ($arg[3]) l ($arg[4]) p ($arg[5])]`},
	{"plain", "p->next->next->next->next->next->fd", "follows more than 5 pointers"},
	{"many", "g", "sp int8[8]"},
	{"many", "h->fd", "sp uint64[16] int32[0]"},
	{"many", "6", "sp int8[8]"},
	{"many", "7->self.port", "sp uint64[16] int16[48]"},
	{"floats", "a", "r0 int32"},
	{"floats", "name text", "r1 text+0"},
	{"floats", "1 text", "r1 text+0"},
	{"floats", "stack", "r2 int32"},
	{"floats", "x", "x cannot be read: it is a floating-point number (double), which probes cannot read"},
	{"floats", "z", "z is a floating-point number (long double)"},
	{"values", "n", "r1 int32"},
	{"values", "m", "r2 int32"},
	{"values", "t.a", "t is struct two, passed by value in registers"},
	{"values", "t", "t is struct two, which is no whole number"},
	{"values", "b.name text", "sp text+32/16"},
	{"values", "8", "sp uint64[24]"},
	{"values", "0", "t is struct two"},
	{"result", "n", "r1 int32"},
	{"result", "c->fd", "r2 int32[0]"},
	{"result", "0->x", "it is where the function puts its result, struct big"},
	{"wide", "n", "r2 int32"},
	{"wide", "yes", "r3 uint8"},
	{"wide", "m", "r4 uint32"},
	{"wide", "s", "r5 int32"},
	{"wide", "w", "in two registers"},
	{"any", "n", "r0 int32"},
	{"any", "1", "it takes any number of arguments"},
	{"unused", "a", "r0 int32"},
	{"call", "argv", "r2 uint64"},
	{"call", "argv text", "argv is a pointer, expected char *"},
	{"call", "f", "r0 uint64"},
}

const argumentsCXX = `
struct Shape { virtual ~Shape() {} int id = 0; };
struct Named { const char *name; int length; };
class Circle : public Shape, public Named { public: double r = 0; bool big = false; static int made; void grow(int by, const Named &how); };
struct Rich { Rich() {} Rich(const Rich &) {} ~Rich() {} int x = 1; };
struct Small { int x; };
struct Empty {};
struct Trivial { Trivial() {} Trivial(const Trivial &) = default; int x = 2; };
struct Holder { Rich inside; };
struct Virt : virtual Named { int own; };
volatile long sink;
#define KEEP __attribute__((noinline, used))
int Circle::made;
KEEP void Circle::grow(int by, const Named &how) { sink = id + by + how.length; }
KEEP void rich(int a, Rich r, Empty e, int &b, Small s, int c) { sink = a + r.x + b + s.x + c; }
KEEP void virt(Virt *v) { sink = v->own + v->length; }
KEEP void held(Holder h, Trivial t, Shape s, int n) { sink = h.inside.x + t.x + s.id + n; }
KEEP Trivial easy(int n) { sink = n; return Trivial(); }
namespace deep { template <class... T> KEEP void pack(int n, T... t) { sink = n + (0 + ... + t); } }
KEEP Rich made(int n) { sink = n; return Rich(); }
int main() { Circle c; Named n = { "x", 2 }; c.grow(1, n); int b = 3; rich(1, Rich(), Empty(), b, Small{4}, 5); Virt v; virt(&v); deep::pack(1, 2, 3L); made(1); held(Holder(), Trivial(), c, 7); easy(1); }
`

var argumentCasesCXX = []struct{ fn, path, want string }{
	{"_ZN6Circle4growEiRK5Named", "this->id", "r0 int32[8]"},
	{"_ZN6Circle4growEiRK5Named", "this->length", "r0 int32[24]"},
	{"_ZN6Circle4growEiRK5Named", "this->name text", "r0 uint64[16] text+0"},
	{"_ZN6Circle4growEiRK5Named", "this->big", "r0 uint8[40]"},
	{"_ZN6Circle4growEiRK5Named", "this->made", "has no"},
	{"_ZN6Circle4growEiRK5Named", "0->id", "r0 int32[8]"},
	{"_ZN6Circle4growEiRK5Named", "by", "r1 int32"},
	{"_ZN6Circle4growEiRK5Named", "how.length", "r2 int32[8]"},
	{"_ZN6Circle4growEiRK5Named", "how.name text", "r2 uint64[0] text+0"},
	{"_ZN6Circle4growEiRK5Named", "how->length", "write .length"},
	{"_Z4richi4Rich5EmptyRi5Smalli", "a", "r0 int32"},
	{"_Z4richi4Rich5EmptyRi5Smalli", "r.x", "r1 int32[0]"},
	{"_Z4richi4Rich5EmptyRi5Smalli", "b", "r2 int32[0]"},
	{"_Z4richi4Rich5EmptyRi5Smalli", "s.x", "passed by value in registers"},
	{"_Z4richi4Rich5EmptyRi5Smalli", "c", "r4 int32"},
	{"_Z4richi4Rich5EmptyRi5Smalli", "e", "which is not passed at all"},
	{"_Z4held6Holder7Trivial5Shapei", "h.inside.x", "r0 int32[0]"},
	{"_Z4held6Holder7Trivial5Shapei", "t", "t is struct Trivial, which"},
	{"_Z4held6Holder7Trivial5Shapei", "s.id", "r2 int32[8]"},
	{"_Z4held6Holder7Trivial5Shapei", "n", "r3 int32"},
	{"_Z4easyi", "n", "r0 int32"},
	{"_Z4virtP4Virt", "v->own", "r0 int32[8]"},
	{"_Z4virtP4Virt", "v->length", "virtual base"},
	{"_ZN4deep4packIJilEEEviDpT_", "n", "r0 int32"},
	{"_ZN4deep4packIJilEEEviDpT_", "2", "r2 int64"},
	{"_Z4madei", "n", "r1 int32"},
	{"_Z4madei", "0", "it is where the function puts its result, struct Rich"},
}

// path reads "p->a.b text" or "5->fd".
func argPathOf(text string) (p ArgPath) {
	text, p.Text = strings.CutSuffix(text, " text")
	for i, part := range strings.Split(strings.ReplaceAll(text, "->", ".>"), ".") {
		name, deref := strings.CutPrefix(part, ">")
		switch {
		case i > 0:
			p.Fields = append(p.Fields, ArgField{name, deref})
		default:
			if _, err := fmt.Sscan(name, &p.Index); err != nil {
				p.Name = name
			}
		}
	}
	return p
}

func (l ArgLoad) text() string {
	if l.Signed {
		return fmt.Sprintf("int%d", 8*l.Size)
	}
	return fmt.Sprintf("uint%d", 8*l.Size)
}

// placeText is a place, or the error.
func placeText(p ArgPlace, err error, path ArgPath) string {
	var no *ErrNoSuch
	if errors.As(err, &no) {
		return fmt.Sprint(err, " ", no.Known)
	}
	if err != nil {
		return err.Error()
	}
	s := fmt.Sprintf("r%d", p.Register)
	if p.Register < 0 {
		s = "sp"
	}
	for _, l := range p.Loads {
		s += fmt.Sprintf(" %s[%d]", l.text(), l.Offset)
	}
	switch {
	case path.Text && p.Room > 0:
		s += fmt.Sprintf(" text+%d/%d", p.Offset, p.Room)
	case path.Text:
		s += fmt.Sprintf(" text+%d", p.Offset)
	case len(p.Loads) == 0:
		s += " " + p.Narrow.text()
	}
	return s
}

// compilers are those that are there, with what they are told.
func compilers(t testing.TB, cxx bool) (list [][]string) {
	for _, names := range [][2]string{{"gcc", "g++"}, {"clang", "clang++"}, {"clang-14", "clang++-14"}} {
		name := names[0]
		if cxx {
			name = names[1]
		}
		if _, err := exec.LookPath(name); err != nil {
			if strings.HasPrefix(name, "g") {
				require.Skipf(t, "needs %s to compile the program under test", name)
			}
			continue
		}
		list = append(list, []string{name, "-O0", "-gdwarf-5"}, []string{name, "-O2", "-gdwarf-4"}, []string{name, "-O2", "-gdwarf-5"})
	}
	return list
}

func compileWith(t testing.TB, src string, command []string) *object {
	t.Helper()
	return openObject(t, compileTo(t, src, command))
}

func compileTo(t testing.TB, src string, command []string) string {
	t.Helper()
	dir := t.TempDir()
	ext := ".c"
	if strings.Contains(command[0], "++") {
		ext = ".cc"
	}
	in, out := filepath.Join(dir, "prog"+ext), filepath.Join(dir, "prog")
	if err := os.WriteFile(in, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append(append([]string{}, command[1:]...), "-w", "-o", out, in)
	if msg, err := exec.Command(command[0], args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", command, err, msg)
	}
	return out
}

// TestArguments finds arguments of every kind in C and C++ programs, by what compilers write at -O0 and -O2 in DWARF 4 and 5.
func TestArguments(t *testing.T) {
	asked := 0
	for _, lang := range []struct {
		src   string
		cxx   bool
		cases []struct{ fn, path, want string }
	}{{argumentsC, false, argumentCases}, {argumentsCXX, true, argumentCasesCXX}} {
		for _, command := range compilers(t, lang.cxx) {
			o := compileWith(t, lang.src, command)
			if !lang.cxx {
				localArguments(t, o, command)
			}
			for _, c := range lang.cases {
				path := argPathOf(c.path)
				p, err := o.Argument(o.function(t, c.fn), path)
				asked++
				if got := placeText(p, err, path); got != c.want && (err == nil || !strings.Contains(got, c.want)) {
					t.Errorf("%v: %s of %s: %s, want %s", command, c.path, c.fn, got, c.want)
				}
			}
		}
	}
	t.Logf("%d questions", asked)
}

// localArguments: what the compiler passes to a function that it alone calls is known only where DWARF says so.
func localArguments(t *testing.T, o *object, command []string) {
	local := o.function(t, "local")
	p, err := o.Argument(local, argPathOf("c->fd"))
	q, errUnneeded := o.Argument(local, argPathOf("unneeded"))
	t.Logf("%v: %s is c->fd; %s, unneeded", command, placeText(p, err, ArgPath{}), placeText(q, errUnneeded, ArgPath{}))
	if err != nil {
		t.Errorf("%v: %v", command, err)
	}
	if command[1] == "-O0" && (errUnneeded != nil || q.Register != 0 || p.Register != 1) {
		t.Errorf("%v: without optimisation: %v, %v", command, p, errUnneeded)
	}
	if p.Register != 0 && p.Register != 1 {
		t.Errorf("%v: c in %d", command, p.Register)
	}
}

// TestElsewhere: a structure that is only declared where a function uses it is found where it is defined, if there is one of its name.
func TestElsewhere(t *testing.T) {
	for _, cxx := range []bool{false, true} {
		for _, command := range compilers(t, cxx) {
			dir, ext := t.TempDir(), map[bool]string{false: ".c", true: ".cc"}[cxx]
			for name, src := range map[string]string{
				"a": `struct there; struct twice; struct nowhere; struct holder { int n; struct there *t; struct twice *w; struct nowhere *x; };
volatile long sink;
__attribute__((noinline, used)) void take(struct holder *h, struct there *t) { sink = h->n; }
int main(void) { struct holder h = { 1 }; take(&h, 0); return 0; }`,
				"b": "struct there { long before; int there; }; struct twice { int x; }; struct there one; struct twice two;",
				"c": "struct there { long before; int there; }; struct twice { long y; int x; }; struct there three; struct twice four;",
			} {
				if err := os.WriteFile(filepath.Join(dir, name+ext), []byte(src), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out := filepath.Join(dir, "prog")
			args := append(append([]string{}, command[1:]...), "-fcommon", "-w", "-o", out)
			for _, name := range []string{"a", "b", "c"} {
				args = append(args, filepath.Join(dir, name+ext))
			}
			if msg, err := exec.Command(command[0], args...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", command, err, msg)
			}
			o := openObject(t, out)
			take := o.function(t, map[bool]string{false: "take", true: "_Z4takeP6holderP5there"}[cxx])
			for path, want := range map[string]string{"t->there": "r1 int32[8]", "h->t->there": "r0 uint64[8] int32[8]",
				"h->w->x": "struct twice is defined in several ways", "h->x->x": "struct nowhere is only declared"} {
				p, err := o.Argument(take, argPathOf(path))
				if got := placeText(p, err, argPathOf(path)); got != want && (err == nil || !strings.Contains(got, want)) {
					t.Errorf("%v: %s: %s, want %s", command, path, got, want)
				}
			}
		}
	}
}

// TestNoTypes: without DWARF, or with it elsewhere, it is said so.
func TestNoTypes(t *testing.T) {
	for _, c := range []struct{ flag, want string }{{"-g0", "there is no DWARF of it"}, {"-gsplit-dwarf", "-gsplit-dwarf"}, {"-g1", ""}} {
		o := compileWith(t, argumentsC, []string{"gcc", "-O1", c.flag})
		_, err := o.Argument(o.function(t, "plain"), argPathOf("p->fd"))
		var no *ErrNoTypes
		if err == nil || !strings.Contains(err.Error(), c.want) || c.want != "" && !errors.As(err, &no) {
			t.Errorf("%s: %v, want %s", c.flag, err, c.want)
		}
		t.Logf("%s: %v", c.flag, err)
	}
}

// TestABI makes functions with parameters by chance, and compares where the ABI has them with what the compiler says.
func TestABI(t *testing.T) {
	types := []string{"char", "int", "long", "void *", "float", "double", "long double", "__int128", "struct s4", "struct s8", "struct s12", "struct s16", "struct s24",
		"struct f4", "struct f8", "struct fi", "struct d2", "struct dl", "struct ld", "struct arr", "struct bits", "struct pk", "struct nest", "_Complex float", "_Complex double", "v16", "union u"}
	rng := rand.New(rand.NewPCG(5, 6))
	var src strings.Builder
	src.WriteString(`typedef int v16 __attribute__((vector_size(16)));
struct s4 { int a; }; struct s8 { int a; char b; }; struct s12 { int a, b; float c; }; struct s16 { long a; char b[8]; }; struct s24 { long a, b, c; };
struct f4 { float a; }; struct f8 { float a, b; }; struct fi { float a; int b; }; struct d2 { double a, b; }; struct dl { double a; long b; }; struct ld { long double a; };
struct arr { short a[5]; }; struct bits { int a : 3; int b : 29; double c; }; struct __attribute__((packed)) pk { char a; int b; }; struct nest { struct fi a; struct f4 b; };
union u { double d; int i; };
volatile char sink;
static inline void use(const void *p, int n) { for (int i = 0; i < n; i++) sink = ((const char *)p)[i]; }
`)
	const n = 60
	for i := range n {
		fmt.Fprintf(&src, "__attribute__((noinline, used)) %s f%d(", []string{"void", "int", "struct s24", "struct s16", "double", "struct ld"}[rng.IntN(6)], i)
		var uses string
		for k := range 1 + rng.IntN(10) {
			if k > 0 {
				src.WriteString(", ")
			}
			fmt.Fprintf(&src, "%s p%d", types[rng.IntN(len(types))], k)
			uses += fmt.Sprintf(" use(&p%d, sizeof p%d);", k, k)
		}
		fmt.Fprintf(&src, ") {%s }\n", uses)
	}
	src.WriteString("int main(void) { return 0; }\n")
	for _, command := range compilers(t, false) {
		if command[1] != "-O2" {
			continue
		}
		compareABI(t, compileWith(t, src.String(), command), command, n)
	}
}

func compareABI(t *testing.T, o *object, command []string, n int) {
	registers, stack, unknown, unsure := 0, 0, 0, 0
	for i := range n {
		f := o.function(t, fmt.Sprint("f", i))
		s, err := o.signature(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range s.args {
			switch reg, isArg := argRegister[a.loc.n]; {
			case strings.Contains(a.refused, "not known"):
				unsure++
			case strings.Contains(a.refused, "agree"):
				t.Errorf("%v: %s of f%d (%s): %s; DWARF %+v, by the ABI %+v", command, a.name, i, a.t.describe(), a.refused, a.loc, a.passing)
			case a.loc.kind == locRegister && isArg:
				registers++
				if a.reg != reg {
					t.Errorf("%v: %s of f%d (%s) is in register %d, by the ABI %+v", command, a.name, i, a.t.describe(), reg, a.passing)
				}
			case a.loc.kind == locStack:
				stack++
				if a.stack != a.loc.n+8 {
					t.Errorf("%v: %s of f%d (%s) is at %d, by the ABI %+v", command, a.name, i, a.t.describe(), a.loc.n+8, a.passing)
				}
			default:
				unknown++
			}
		}
	}
	t.Logf("%v: %d arguments in general registers and %d on the stack, as DWARF says; of %d it says nothing simple, %d are behind a split number", command, registers, stack, unknown, unsure)
	if unsure > registers/10 || registers < n/2 || command[0] == "gcc" && stack < n/2 {
		t.Errorf("%v: the test sees too little", command)
	}
}
