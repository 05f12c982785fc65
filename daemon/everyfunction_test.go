package daemon

import (
	"crypto/sha256"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/require"
	"culprit/internal/testprog"
	"culprit/pcl"
	"culprit/trampoline"
)

// pythonWork computes for a while with most of what the interpreter has, and throws and catches on the way.
const pythonWork = `
import sys, json, re, zlib, decimal, itertools, collections
print("READY", flush=True)
sys.stdin.readline()
def walk(n): return 1 if n < 2 else walk(n-1) + walk(n-2)
out = []
for i in range(30):
    d = {str(k): [k * 1.5, (k, -k), {"x": k ** i}] for k in range(200)}
    text = json.dumps(d, sort_keys=True)
    out.append(zlib.crc32(text.encode()))
    out.append(len(re.findall(r"(\d+)\.5", text)))
    out.append(str(sum(decimal.Decimal(k) / 7 for k in range(100))))
    out.append(collections.Counter(itertools.chain.from_iterable(text.split(","))).most_common(3))
    try:
        json.loads(text[:-i-1])
    except ValueError as e:
        out.append(str(e))
    out.append(walk(14) + len(sorted(d, key=lambda k: -int(k))))
    try:
        (lambda f: f(f))(lambda f: f(f))
    except RecursionError as e:
        out.append("deep")
print(out)
print("DONE", flush=True)
sys.stdin.readline()
`

// gdbWork makes a debugger in C++ look into a program and throw exceptions, again and again.
func gdbWork(program string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "file %s\n", program)
	for range 5 {
		b.WriteString("info functions distance\nptype struct point\ndisassemble main\nprint 1/0\nprint nothing_here\ninfo line main\n" +
			"list main\nprint sizeof(struct point) * 3 + 7 % 4\nx/5i main\ninfo scope main\nprint \"a\" \"b\"\nhelp step\n")
	}
	b.WriteString(`echo \nDONE\n`)
	return b.String()
}

// TestEveryFunction counts at every function of a large program that somebody else has written, at its entry and all its
// exits, while it works: what it prints is what it prints undisturbed.
func TestEveryFunction(t *testing.T) {
	require.Root(t)
	for _, c := range []struct {
		name  string
		start func(t *testing.T) *testprog.Prog
		work  string
		least float64 // share of the functions in the executable that have probes
	}{
		{"python3", func(t *testing.T) *testprog.Prog {
			return testprog.Start(t, require.Tool(t, "/usr/bin/python3"), "-S", "-c", pythonWork)
		}, "go", 0.965},
		{"gdb", func(t *testing.T) *testprog.Prog {
			cmd := exec.Command(require.Tool(t, "gdb"), "-q", "-nx", "-nh", "-iex", "set confirm off", "-iex", "set width 0", "-iex", "set height 0", "-ex", `echo \nREADY\n`)
			cmd.Env = append(cmd.Environ(), "TERM=dumb", "DEBUGINFOD_URLS=")
			return testprog.StartCmd(t, cmd)
		}, gdbWork(testprog.Build(t, "testdata/targets/cpu.c", "-O0")), 0.99},
	} {
		t.Run(c.name, func(t *testing.T) {
			alone := work(t, c.start(t), c.work, func(*testprog.Prog) {})
			watched := work(t, c.start(t), c.work, func(p *testprog.Prog) { instrumentAll(t, p, c.least) })
			if alone != watched {
				t.Errorf("it printed %s, undisturbed %s", watched, alone)
			}
		})
	}
}

// work starts a program, does f, gives the program its work and returns a hash of all that it printed.
func work(t *testing.T, p *testprog.Prog, text string, f func(*testprog.Prog)) string {
	t.Helper()
	p.Expect(t, "READY", 20*time.Second)
	f(p)
	p.Say(t, text)
	p.Expect(t, "DONE", 2*time.Minute)
	lines := strings.Join(p.Lines(), "\n")
	p.Say(t, "quit")
	if status := p.Wait(t, 20*time.Second); status != 0 {
		t.Errorf("it ended with %d", status)
	}
	return fmt.Sprintf("%x of %d bytes", sha256.Sum256([]byte(lines)), len(lines))
}

// passages counts every entry and every exit.
const passages = `metric passages {
    name "passages"; units ops; unitsType unnormalized; aggregateOperator sum; style EventCounter;
    constraint passagesOfModule /Code is replace counter {
        foreach f in $constraint[0].funcs {
            append preInsn f.entry (* passages++; *)
            prepend preInsn f.return (* passages++; *)
        }
    }
    constraint passagesOfProcedure /Code/* is replace counter {
        append preInsn $constraint[0].entry (* passages++; *)
        prepend preInsn $constraint[0].return (* passages++; *)
    }
    base is counter { foreach f in $procedures append preInsn f.entry (* passages++; *) }
}`

// instrumentAll counts at every function of the executable, or of the library that it is only a shell of, until the test ends.
func instrumentAll(t *testing.T, p *testprog.Prog, least float64) {
	t.Helper()
	d := attachPassages(t, p.PID)
	functions, keys := largestObject(d)
	var s sums
	start := time.Now()
	for _, r := range d.Enable(keys, &s) {
		if r.Err != nil {
			t.Log(r.Key, r.Err)
		}
	}
	took := time.Since(start)
	ok, tactics := patchedOf(d, functions)
	t.Logf("%s: %d of %d functions count, in %v; sites %v; pauses %+v", functions[0].obj.name, ok, len(functions), took, tactics, d.Overhead().Pauses)
	if float64(ok) < least*float64(len(functions)) {
		t.Errorf("only %d of %d functions count", ok, len(functions))
	}
}

// largestObject lists the functions of the object that has most of them, and the pairs that count in all of its modules.
func largestObject(d *Daemon) (largest []*function, keys []grid.PairKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	tg := d.targets[0]
	tg.names()
	of := map[*object][]*function{}
	for _, f := range tg.funcs {
		if of[f.obj] = append(of[f.obj], f); !isLibc(f.obj.name) && len(of[f.obj]) > len(largest) {
			largest = of[f.obj]
		}
	}
	largest = slices.DeleteFunc(largest, func(f *function) bool {
		f.analyse()
		return strings.Contains(f.reason, "fragment")
	})
	modules := map[string]bool{}
	for _, f := range largest {
		if !modules[f.fn.Module] {
			modules[f.fn.Module] = true
			keys = append(keys, grid.PairKey{Metric: "passages", Focus: grid.Whole().Refine(grid.Code, f.fn.Module)})
		}
	}
	return largest, keys
}

// patchedOf counts the functions whose entry and exits all lead into trampolines.
func patchedOf(d *Daemon, functions []*function) (ok int, tactics map[trampoline.Tactic]int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	tactics = map[trampoline.Tactic]int{}
	for _, f := range functions {
		whole := f.plan != nil
		for _, where := range []pcl.Where{pcl.Entry, pcl.Return} {
			for _, pt := range f.points[where] {
				planned, _ := f.plan.SiteOf(pt)
				if planned == nil || f.obj == nil || d.targets[0].sites[planned.Addr] == nil || d.targets[0].sites[planned.Addr].base == nil {
					whole = false
					continue
				}
				tactics[planned.Tactic]++
			}
		}
		if whole {
			ok++
		}
	}
	return ok, tactics
}
