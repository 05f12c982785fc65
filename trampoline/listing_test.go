package trampoline

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"culprit/internal/require"
	"culprit/trampoline/planner"
)

var update = flag.Bool("update", false, "write the golden files anew")

// primitives has one of each, by name.
func primitives() (names []string, minis map[string]Mini) {
	minis = map[string]Mini{}
	add := func(name string, m Mini) {
		names = append(names, name)
		minis[name] = m
	}
	for op, name := range []string{"add", "set", "flag enter", "flag leave", "wall enter", "wall leave", "wall start", "wall stop",
		"cpu enter", "cpu leave", "cpu start", "cpu stop"} {
		add(name, Mini{Op: Op(op), Cell: 64, Expr: &Expr{Value: 1}})
	}
	add("add argument", Mini{Op: Add, Cell: 64, Expr: &Expr{Op: ExArg, Value: 2}})
	add("add return value where it is positive", Mini{Op: Add, Cell: 64, Expr: &Expr{Op: ExReturn},
		Cond: &Expr{Op: ExGt, L: &Expr{Op: ExReturn}, R: &Expr{}}})
	add("guarded by a flag", Mini{Op: Add, Cell: 64, Expr: &Expr{Value: 1}, Guards: []Guard{{Cell: 72}}})
	add("guarded by an activation", Mini{Op: Add, Cell: 64, Expr: &Expr{Value: 1}, Guards: []Guard{{Cell: 72, Activation: true}}})
	add("if the first argument is 7", Mini{Op: Add, Cell: 64, Expr: &Expr{Value: 1}, Cond: &Expr{Op: ExEq, L: &Expr{Op: ExArg}, R: &Expr{Value: 7}}})
	add("add argument, with its distribution", Mini{Op: Add, Cell: 64, Expr: &Expr{Op: ExArg, Value: 2}, Buckets: 96})
	add("wall leave, with its distribution", Mini{Op: WallLeave, Cell: 64, Buckets: 96})
	add("flag leave, by an exception", Mini{Op: FlagLeave, Cell: 64, Ending: ByUnwind, FrameAt: 0x90})
	add("flag leave, by the caller", Mini{Op: FlagLeave, Cell: 64, Ending: ByCaller})
	add("wall leave, by longjmp", Mini{Op: WallLeave, Cell: 64, Ending: ByJump})
	add("add argument, by a key", Mini{Op: Add, Cell: 64, Expr: &Expr{Op: ExArg, Value: 2}, Table: 96, Key: 72})
	return names, minis
}

// TestListings compares the code of one of each primitive, as objdump shows it, with testdata/listings.txt.
func TestListings(t *testing.T) {
	require.Tool(t, "objdump")
	var out bytes.Buffer
	names, minis := primitives()
	code := unhex(t, "48c7c001000000 c3")
	s := &sample{code: code, insts: decodeAll(code, funcAt), points: []planner.Point{{Kind: planner.FuncEntry, Addr: funcAt}}}
	plan := planner.MakePlan(s.body(), s.points)
	env := nativeEnv()
	env.BlockSize = 512
	for _, name := range names {
		b, err := Generate(env, plan.Sites[0], [][]Group{{{Owner: 1, Minis: []Mini{minis[name]}}}}, roomAt)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s: entry %#x, fixed %#x, switches %v\n%s\n", name, roomAt+b.Entry, roomAt+b.Fixed, b.Toggles[1], disassemble(t, b.Code, roomAt))
	}
	stub, err := SlowStub(env, slowAt)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&out, "stub that finds a thread block\n%s", disassemble(t, stub, slowAt))
	golden := filepath.Join("testdata", "listings.txt")
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(out.String(), "\n")); diff != "" {
		t.Errorf("the code has changed; if it was meant to, run with -args -update\n%s", diff)
	}
}

var objdumpLine = regexp.MustCompile(`^\s*([0-9a-f]+):\t([0-9a-f ]+?)\s*\t(.*?)\s*$`)

// disassemble lists code in objdump's words, whatever its version puts between them.
func disassemble(t *testing.T, code []byte, at uint64) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "code")
	if err := os.WriteFile(file, code, 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command("objdump", "-D", "-w", "-b", "binary", "-m", "i386:x86-64", fmt.Sprintf("--adjust-vma=%#x", at), file).Output()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for line := range strings.SplitSeq(string(text), "\n") {
		if m := objdumpLine.FindStringSubmatch(line); m != nil {
			fmt.Fprintf(&out, "  %s  %-32s %s\n", m[1], m[2], strings.Join(strings.Fields(m[3]), " "))
		}
	}
	return out.String()
}
