package image

import (
	"errors"
	"os"
	"sort"
	"testing"
	"time"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// openFile opens an ELF file of the machine or of a test; the file is closed when the test ends.
func openFile(t testing.TB, path, name string) *Object {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		require.Skipf(t, "needs %s: %v", path, err)
	}
	t.Cleanup(func() { f.Close() })
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	o, err := Open(f, st.Size(), name)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

const (
	redisPath = "/usr/bin/redis-server"
)

type stats struct {
	functions, named, refused, fragments, hidden, undecoded int
	insts, targets, exits, calls                            int
	reasons                                                 map[string]int
	samples                                                 map[string]string
}

func statsOf(o *Object) stats {
	s := stats{reasons: map[string]int{}, samples: map[string]string{}}
	why := func(r, name string) {
		s.reasons[r]++
		s.samples[r] = name
	}
	for _, f := range o.Functions() {
		s.functions++
		if f.Named {
			s.named++
		}
		if f.Refuse != "" {
			s.refused++
			why(f.Refuse, f.Name)
		}
		w, err := o.Flow(f)
		var ref *ErrRefused
		switch {
		case errors.As(err, &ref):
			if o.FunctionAt(f.Addr) != f {
				s.fragments++
			} else {
				s.undecoded++
				why(ref.Reason, f.Name)
			}
			continue
		case err != nil:
			s.undecoded++
			why(err.Error(), f.Name)
			continue
		}
		if w.Hidden != "" {
			s.hidden++
			why("hidden: "+w.Hidden, f.Name)
		}
		s.insts += len(w.Insts)
		s.targets += len(w.Targets)
		s.exits += len(w.Exits)
		s.calls += len(w.Calls)
	}
	return s
}

func (s stats) log(t *testing.T, name string) {
	t.Logf("%s: %d functions, %d named, %d refused, %d fragments with an owner, %d hidden, %d undecoded; %d instructions, %d targets, %d exits, %d calls",
		name, s.functions, s.named, s.refused, s.fragments, s.hidden, s.undecoded, s.insts, s.targets, s.exits, s.calls)
	var rs []string
	for r := range s.reasons {
		rs = append(rs, r)
	}
	sort.Strings(rs)
	for _, r := range rs {
		t.Logf("  %5d %s (e.g. %s)", s.reasons[r], r, s.samples[r])
	}
}

func TestSystemBinaries(t *testing.T) {
	for _, c := range []struct {
		path, name    string
		hiddenPercent float64
	}{{redisPath, "redis-server", 1}, {testprog.LibcPath, "libc.so.6", 2}} {
		t.Run(c.name, func(t *testing.T) {
			start := time.Now()
			o := openFile(t, c.path, c.name)
			n := len(o.Functions())
			t.Logf("function table of %d in %v", n, time.Since(start))
			start = time.Now()
			o.xref()
			t.Logf("pass over all code in %v", time.Since(start))
			start = time.Now()
			s := statsOf(o)
			t.Logf("all flows in %v", time.Since(start))
			s.log(t, c.name)
			if n < 1000 {
				t.Errorf("only %d functions", n)
			}
			if bad := float64(s.hidden+s.undecoded) * 100 / float64(n); bad >= c.hiddenPercent {
				t.Errorf("%.2f %% of the functions have hidden targets or do not decode, want less than %g %%", bad, c.hiddenPercent)
			}
		})
	}
}
