package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"culprit/internal/require"
	"culprit/internal/servers"
	"culprit/internal/testprog"
)

// before is an older culprit, whose answers are wanted beside those of today's.
var before = flag.String("before", "", "path of an older culprit; what it says of each row is printed instead, and nothing fails")

// rows are what tools like this one get wrong in real programs, and programs and servers that do the same. The first finding must be right.
var rows = []struct {
	what     string
	programs []string
	servers  []string
}{
	{"plain causes", []string{"access_log", "fsynclog", "hotloop", "sessionlock", "spreadcpu"}, nil},
	{"a row of a database that all sessions change", nil, []string{"postgres-hotrow", "mariadb-hotrow"}},
	{"a commit for each row", nil, []string{"sqlite-commits"}},
	{"a database under load is told by what it computes", nil, []string{"redis-range"}},
	{"who waits for the threads that work", []string{"coordinator"}, nil},
	{"locks of Rust's standard library", []string{"convoy"}, nil},
	{"pools that have nothing to do", []string{"idlepool", "idleworkers"}, []string{"node-idle", "java-idle"}},
	{"short processes one after the other", []string{"shellloop", "shell_agent"}, nil},
	{"poll below a request", []string{"slowpeer", "resolver"}, nil},
	{"a connection for each request", []string{"newconnections"}, nil},
	{"one lock that is waited for among millions that are not", []string{"manylocks"}, nil},
	{"locks inside libc", []string{"stdiolock", "arenalock"}, nil},
	{"page faults, system calls, a cold tree of files", []string{"freshmaps", "statloop", "coldtree", "coldmap"}, nil},
	{"threads that spin for a late one", []string{"lateomp", "spinbarrier"}, nil},
	{"one waits for a disk, the others for that one", []string{"groupcommit"}, nil},
	{"a slow reader at the end of pipes", []string{"pipechain"}, nil},
	{"four causes of equal size", []string{"fourfiles"}, nil},
	{"a script that becomes the server", []string{"startscript"}, nil},
	{"a call that is the last thing in its function", []string{"tailfsync"}, nil},
}

// rowSpans are how long culprit searches: an answer must be there after the longest, and most are after a second.
var rowSpans = []time.Duration{4 * time.Second, 15 * time.Second}

// TestRows runs the real culprit on real programs, one after the other.
func TestRows(t *testing.T) {
	require.Root(t)
	require.Tool(t, "gcc")
	o := &options{root: testprog.Root(t), rounds: 1, culprit: *before}
	if err := errors.Join(os.MkdirAll(filepath.Join(buildDir(o.root), "reports"), 0o755), o.build(t.Context())); err != nil {
		t.Fatal(err)
	}
	all, err := programs(o.root)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		for _, name := range row.programs {
			testRow(t, o, row.what, one(t, all, name))
		}
		for _, name := range row.servers {
			testRow(t, o, row.what, one(t, serverSubjects(), name))
		}
	}
}

func testRow(t *testing.T, o *options, what string, s subject) {
	t.Run(s.name, func(t *testing.T) {
		var r result
		var err error
		for _, o.span = range rowSpans {
			if r, err = o.measure(t.Context(), s); err != nil || r.right() {
				break
			}
		}
		switch {
		case errors.Is(err, servers.ErrMissing):
			t.Skipf("%v: scripts/install-packages culprits installs it on Debian; continuous integration does without", err)
		case err != nil && *before == "":
			t.Fatal(err)
		case r.right():
			t.Logf("%s, %v: %s", what, o.span, r.Said)
		case *before != "":
			t.Logf("NOT FIRST: %s, %v: %s", what, o.span, r.Said)
		default:
			t.Errorf("%s: the first finding is wrong: %q", what, r.Said)
		}
	})
}

// right reports whether the first finding is right, and none is wrong.
func (r *result) right() bool { return r.First && len(r.Blamed) == 0 }

func one(t *testing.T, list []subject, name string) subject {
	t.Helper()
	i := slices.IndexFunc(list, func(s subject) bool { return s.name == name })
	if i < 0 {
		t.Fatalf("there is no program %s", name)
	}
	return list[i]
}
