package compile

import (
	"strings"
	"testing"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/internal/cases"
)

// closing is the target of the other tests with functions that close and copy descriptors.
func closing() *cases.Target {
	env := cases.NewTarget()
	env.Funcs = append(env.Funcs, cases.NewFunction(70, "libc.so.6", []string{"close", "__close"}, nil),
		cases.NewFunction(71, "libc.so.6", []string{"__close_nocancel"}, nil), cases.NewFunction(72, "libc.so.6", []string{"dup2"}, nil),
		cases.NewFunction(73, "libc.so.6", []string{"dup"}, nil), cases.NewFunction(74, "libc.so.6", []string{"fcntl", "fcntl64"}, nil),
		cases.NewFunction(75, "libc.so.6", []string{"open", "open64"}, nil), cases.NewFunction(76, "libc.so.6", []string{"openat"}, nil), cases.NewFunction(77, "libc.so.6", []string{"posix_spawn"}, nil))
	return env
}

// TestFilesAreFollowed: whatever asks what a descriptor stands for gets code where descriptors are closed and copied, each function once;
// what does not ask gets none.
func TestFilesAreFollowed(t *testing.T) {
	lib := cases.Load(t, `metric kept { name "kept"; units B; unitsType unnormalized; aggregateOperator sum; style EventCounter; counter fd;
		constraint other /IO/File is replace counter {
			foreach f in io_data_funcs {
				append preInsn f.entry (* fd = $arg[0]; if ($constraint[0] != fd) kept++; *)
			}
		}
		base is counter { } }`)
	file := grid.Whole().Refine(grid.IO, "File", "/tmp/x")
	for metric, asks := range map[string]string{"io_bytes": "if (file($arg[0]) == 3) enter oneFile", "io_wait": "if (file($arg[0]) == 3) enter oneFile",
		"kept": "if (3 != file(fd)) kept += 1"} {
		plan, err := Plan(lib, metric, file, closing())
		if err != nil {
			t.Fatalf("%s: %v", metric, err)
		}
		text := plan.String()
		for _, want := range []string{asks, "append preInsn 70.entry { if ($spawning == 0) renew($arg[0]) }", "append preInsn 71.entry { if ($spawning == 0) renew($arg[0]) }",
			"append preInsn 72.entry { if ($spawning == 0) renew($arg[1], file($arg[0])) }",
			"append preInsn 73.entry { $opened = file($arg[0]) }",
			"append preInsn 74.entry { if ((uint32($arg[1]) == 0) || (uint32($arg[1]) == 1030)) $opened = file($arg[0]) }",
			"append preInsn 77.entry { $spawning = 1 }", "append preInsn 77.return { $spawning = 0 }",
			`append preInsn 75.entry { if (path[$arg[0]+0] == "/tmp/x") $opened = 3 }`,
			`append preInsn 76.entry { if (path[$arg[1]+0] == "/tmp/x") $opened = 3 }`,
			"append preInsn 75.return { if (file($return) == 0) renew($return, 268435456) }",
			"append preInsn 75.return { if ($opened) renew($return, $opened); $opened = 0 }"} {
			if strings.Contains(text, want) && strings.Count(text, "70.entry") == 1 {
				continue
			}
			t.Errorf("%s: no %q, or more than one close, in\n%s", metric, want, text)
		}
		if !plan.UsesFiles() {
			t.Errorf("%s: nobody says that it asks", metric)
		}
		follows := 0
		for _, r := range plan.Requests {
			if r.Follows {
				follows++
			}
		}
		if follows != 15 {
			t.Errorf("%s: %d requests follow files, want 15", metric, follows)
		}
	}
	plan, err := Plan(lib, "io_ops", grid.Whole().Refine(grid.IO, "Socket"), closing())
	if err != nil || !plan.UsesFiles() || !strings.Contains(plan.String(), "if ((file($arg[0]) / 268435456) == 2) enter ioType") {
		t.Errorf("all sockets: %v %v", plan, err)
	}
	for _, at := range []grid.Focus{grid.Whole(), grid.Whole().Refine(grid.SyncObject, "Mutex", "cache_lock")} {
		plan, err := Plan(lib, "sync_wait", at, closing())
		if err != nil || plan.UsesFiles() || strings.Contains(plan.String(), "renew") {
			t.Errorf("%v: %v %v", at, plan, err)
		}
	}
}

// TestLocksOfFilesAreFilesOfTheirs: the lock of a file is told by the file behind the descriptor, and its descriptors are followed as those of the
// file are; all locks of files need neither.
func TestLocksOfFilesAreFilesOfTheirs(t *testing.T) {
	lib, env := cases.Load(t), closing()
	env.Funcs = append(env.Funcs, cases.NewFunction(80, "libc.so.6", []string{"flock"}, nil))
	env.Known["SyncObject/FileLock//tmp/x"] = env.Known["IO/File//tmp/x"]
	one := grid.Whole().Refine(grid.SyncObject, pcl.FileLock, "/tmp/x")
	plan, err := Plan(lib, "sync_wait", one, env)
	if err != nil {
		t.Fatal(err)
	}
	text := plan.String()
	for _, want := range []string{"80.entry { if (file($arg[0]) == 3) enter oneFileLock", "74.entry { if (file($arg[0]) == 3) enter oneFileLock",
		"append preInsn 70.entry { if ($spawning == 0) renew($arg[0]) }", `append preInsn 75.entry { if (path[$arg[0]+0] == "/tmp/x") $opened = 3 }`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, at := range []grid.Focus{grid.Whole(), grid.Whole().Refine(grid.SyncObject, pcl.FileLock)} {
		plan, err := Plan(lib, "sync_ops", at, env)
		if err != nil || plan.UsesFiles() || !strings.Contains(plan.String(), "(int32($arg[1]) == 7) || (int32($arg[1]) == 38)") {
			t.Errorf("%v: %v %v", at, plan, err)
		}
	}
}
