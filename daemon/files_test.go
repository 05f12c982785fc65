package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"culprit/daemon/children"
	"culprit/daemon/openfiles"
	"culprit/grid"
	"culprit/internal/testprog"
)

// What is moved counts for the file, the socket or the pipe that it goes to, whatever number its descriptor has.

// namesOf reads the NAME lines of a program: the resource by the word that the program has for it.
func namesOf(t *testing.T, p *testprog.Prog) map[string]string {
	t.Helper()
	p.Expect(t, "NAMES", 10*time.Second)
	m := map[string]string{}
	for _, line := range p.Lines() {
		if f := strings.SplitN(line, " ", 3); len(f) == 3 && f[0] == "NAME" {
			m[f[1]] = f[2]
		}
	}
	return m
}

// TestBytesFollowTheFile: copies of descriptors, descriptors that are used again at once, files that are open for a moment, deleted and
// renamed, and sockets by their peers; exact.
func TestBytesFollowTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/descriptors.c"), dir)
	names := namesOf(t, p)
	d := attachTo(t, p.PID)
	at := func(kind, name string) string { return "io_bytes@" + grid.Whole().Refine(grid.IO, kind, name).String() }
	want := truths{at("Socket", names["tcp"]): "tcp", at("Socket", names["unix"]): "unix", at("Socket", names["abstract"]): "abstract",
		at("Socket", names["udp"]): "udp", at("Pipe", names["pipe"]): "pipe", at("File", "memfd:numbers"): "memfd"}
	for _, name := range []string{"a", "b", "c"} {
		want[at("File", filepath.Join(dir, name))] = name
	}
	want["io_bytes@/IO/File"], want["io_bytes@/IO/Socket"] = "a b c memfd stray", "tcp unix abstract udp elsewhere"
	want["io_bytes@/Code/descriptors.c/put,/IO/Pipe"] = "pipe_put"
	got := across(t, d, p, want.keys(t)...)
	want.check(t, got, p.Counts(), 1, 0)
	t.Logf("%d bytes went to files that had just been opened by another name, and count for none", p.Counts()["stray"])
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestOpenFilesAreResources: what nobody was seen waiting for is listed too, with the process at the other end of a pipe, and is listed
// no more when it is closed.
func TestOpenFilesAreResources(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/descriptors.c"), dir)
	names := namesOf(t, p)
	d := attachTo(t, p.PID)
	c := filepath.Join(dir, "c")
	has := func(kind, name string) bool { return d.Tree().Live(grid.IO, kind, name) }
	awaitTruth(t, "its files are known", func() bool { return has("File", c) })
	for _, name := range []string{"tcp", "unix", "abstract", "udp"} {
		if !has("Socket", names[name]) {
			t.Errorf("%s is no resource: %q", names[name], d.Tree().Children(grid.IO, "Socket"))
		}
	}
	if !has("File", "memfd:numbers") || !has("Pipe", names["pipe"]) {
		t.Errorf("%q %q", d.Tree().Children(grid.IO, "File"), d.Tree().Children(grid.IO, "Pipe"))
	}
	var stdin int
	for _, name := range d.Tree().Children(grid.IO, "Pipe") {
		t.Logf("%s", name)
		if strings.Contains(name, " with ") && strings.Contains(name, fmt.Sprintf("[%d]", os.Getpid())) {
			stdin++
		}
	}
	if stdin == 0 {
		t.Error("no pipe says that this test is at its other end")
	}
	offered := map[string]bool{}
	for _, f := range d.Refinements(grid.Whole(), grid.IO) {
		offered[strings.Join(f.Elements(grid.IO), "/")] = true
	}
	if !offered["File/"+c] || !offered["Socket/"+names["tcp"]] {
		t.Errorf("a search is not offered them: %v", offered)
	}
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	d.lockAll()
	d.targets[0].Files.Look(d.Now() + openfiles.GoneFor + 1)
	d.unlockAll()
	if has("File", c) {
		t.Error("a closed file is still listed")
	}
	if has("File", filepath.Join(dir, "b.renamed")) || !has("File", filepath.Join(dir, "b")) {
		t.Error("a file that was renamed got another name")
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// awaitTruth waits until something holds.
func awaitTruth(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never came that %s", what)
		}
	}
}

// TestOnePipeIsOneResource: processes that have one pipe call it by one name, or the time that they wait for it would be told of two.
func TestOnePipeIsOneResource(t *testing.T) {
	cmd := exec.Command("/bin/bash", "-c", `exec 3<&0; (read -u 3 a; read -u 3 b) & (read -u 3 c; read -u 3 d) & read -u 3 e; kill %1 %2; wait`)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip("no bash: ", err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	awaitTruth(t, "its children are there", func() bool { return len(children.Descendants(cmd.Process.Pid)) == 2 })
	d := attachFamily(t, true, cmd.Process.Pid)
	awaitTruth(t, "its children are measured", func() bool { return len(d.Targets()) == 3 })
	awaitTruth(t, "the pipe is known", func() bool { return len(d.Tree().Children(grid.IO, "Pipe")) > 0 })
	d.lockAll()
	for _, tg := range d.targets {
		tg.Files.Look(d.Now())
	}
	d.unlockAll()
	named := map[string]string{}
	for _, name := range d.Tree().Children(grid.IO, "Pipe") {
		number, _, _ := strings.Cut(name, " ")
		if other := named[number]; other != "" {
			t.Errorf("one pipe is %q and %q", other, name)
		}
		named[number] = name
	}
	if clean, err := d.Detach(); !clean || err != nil {
		t.Error(clean, err)
	}
}
