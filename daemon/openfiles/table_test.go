package openfiles

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"culprit/daemon/kernel"
	"culprit/grid"
	"culprit/pcl"
	"culprit/trampoline"
)

// words is what probes have for descriptors.
type words [trampoline.MaxDescriptors]uint64

func (w *words) of(fd int) *uint64 { return &w[fd] }

// ownTable is the table of our own process.
func ownTable(h *Host) (*Table, *words) {
	w := new(words)
	return h.Table(Config{PID: os.Getpid(), Word: w.of, MayRead: func() bool { return true }}), w
}

// open opens a new file at a descriptor that nobody gets who reads /proc.
func open(t *testing.T, path string) (fd int) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const high = 200
	if err := unix.Dup2(int(f.Fd()), high); err != nil {
		t.Fatal(err)
	}
	return high
}

// TestWordsFollowTheFile: probes are told the kind of what is open, its number once somebody asked, and nothing when it is closed, but not of
// a descriptor that was closed since.
func TestWordsFollowTheFile(t *testing.T) {
	dir := t.TempDir()
	tree := grid.NewTree()
	table, words := ownTable(NewHost(tree))
	path := filepath.Join(dir, "a")
	fd := open(t, path)
	if table.Looked() || !table.Due(1, 10) {
		t.Error("it was looked at before")
	}
	table.Look(1)
	if got := table.At(fd, 1); got != "IO/File/"+path || !tree.Live(grid.IO, "File", path) {
		t.Fatalf("the descriptor is %q", got)
	}
	if words[fd] != uint64(kindNumber("File")) {
		t.Errorf("probes have %#x", words[fd])
	}
	if table.Due(1.1, 0.5) || !table.Due(200, 0.5) {
		t.Error("it is due at the wrong time")
	}
	n, ok := table.Number([]string{"File", path}, 2)
	if again, _ := table.Number([]string{"File", path}, 2); !ok || n>>pcl.FileKindShift != uint64(pcl.FileKinds["File"]) || again != n {
		t.Errorf("its number is %#x, then %#x", n, again)
	}
	if table.Look(3); words[fd] != n {
		t.Errorf("probes have %#x, want %#x", words[fd], n)
	}
	if err := os.Rename(path, path+".renamed"); err != nil {
		t.Fatal(err)
	}
	if table.Look(4); table.At(fd, 4) != "IO/File/"+path {
		t.Errorf("after it was renamed it is %q", table.At(fd, 4))
	}
	words[fd] = 1<<32 | n // it was closed and is open again, as probes saw it
	if table.tell(fd, n, 0); words[fd] != 1<<32|n {
		t.Error("a word was written that had changed")
	}
	if err := unix.Close(fd); err != nil {
		t.Fatal(err)
	}
	if table.Look(5); words[fd] != 1<<32 || table.At(fd, 5) != "" || !tree.Live(grid.IO, "File", path) {
		t.Errorf("closed: probes have %#x, it is %q", words[fd], table.At(fd, 5))
	}
	if table.Look(5 + GoneFor); tree.Live(grid.IO, "File", path) {
		t.Error("it is listed long after it was closed")
	}
	if again, ok := table.Number([]string{"File", path}, 20); !ok || again != n {
		t.Error("a pair cannot be made any more at a file that was closed")
	}
	if _, ok := table.Number([]string{"File", "/nowhere"}, 20); ok || table.At(-1, 20) != "" {
		t.Error("what was never open is known")
	}
}

// TestAFileThatAnotherHasOpen: of many processes each is looked at in its turn, and a file that one has closed stays listed as long as the
// other had it open when that was looked at last.
func TestAFileThatAnotherHasOpen(t *testing.T) {
	const part = "IO/File//var/log/x"
	for _, ends := range []bool{false, true} {
		tree := grid.NewTree()
		h := NewHost(tree)
		closed, _ := ownTable(h)
		other, _ := ownTable(h)
		tree.Add(grid.IO, "File", "/var/log/x")
		closed.seen[part], closed.looked = &seenFile{at: 2}, 20
		other.seen[part], other.looked = &seenFile{at: 12}, 12
		if closed.retire(20); !tree.Live(grid.IO, "File", "/var/log/x") {
			t.Error("it is listed no more when one has closed it")
		}
		if ends {
			other.Close()
			closed.retire(28)
		} else {
			other.looked = 28
			other.retire(28)
		}
		if tree.Live(grid.IO, "File", "/var/log/x") {
			t.Errorf("it is listed still when the other has closed it, too (ended: %v)", ends)
		}
	}
}

// TestLocksOfFiles: the lock of a file becomes a resource when somebody waits for it, and goes with the file; one that is open again for a moment
// comes back.
func TestLocksOfFiles(t *testing.T) {
	tree := grid.NewTree()
	table, _ := ownTable(NewHost(tree))
	path := filepath.Join(t.TempDir(), "lock")
	fd := open(t, path)
	live := func() [2]bool {
		return [2]bool{tree.Live(grid.IO, "File", path), tree.Live(grid.SyncObject, pcl.FileLock, path)}
	}
	if table.Look(1); live() != [2]bool{true, false} {
		t.Errorf("before anybody waits: %v", live())
	}
	if got := table.LockAt(fd, 2); got != "SyncObject/FileLock/"+path || live() != [2]bool{true, true} {
		t.Errorf("its lock is %q, %v", got, live())
	}
	table.open[fd] = descriptor{link: path, part: "IO/File/" + path} // as it is known still when it was closed and is open again
	table.looked = 2 + GoneFor
	if table.retire(2 + GoneFor); live() != [2]bool{} {
		t.Errorf("long after it was closed: %v", live())
	}
	if got := table.LockAt(fd, 3+GoneFor); got != "SyncObject/FileLock/"+path || live() != [2]bool{true, true} {
		t.Errorf("when it is waited for again it is %q, %v", got, live())
	}
	if err := unix.Close(fd); err != nil {
		t.Fatal(err)
	}
	if table.Look(20); table.LockAt(fd, 20) != "" || table.LockAt(-1, 20) != "" {
		t.Error("what is not open has a lock")
	}
}

// TestBriefConnections: a client that connects anew for each request is known by that, as long as it does so; not one that stays connected, one that was
// connected anew once or twice, or a file.
func TestBriefConnections(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	table, _ := ownTable(NewHost(grid.NewTree()))
	const low, high = 201, 202
	connect := func(fd int) {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		raw, _ := c.(*net.TCPConn).SyscallConn()
		if e := raw.Control(func(n uintptr) { err = unix.Dup2(int(n), fd) }); e != nil || err != nil {
			t.Fatal(e, err)
		}
	}
	t.Cleanup(func() { unix.Close(low); unix.Close(high) })
	server := []string{"Socket", "tcp " + l.Addr().String()}
	connect(low)
	connect(high)
	for _, fd := range []int{low, high, low, high} {
		if got := table.At(fd, 1); got != partOf(server) {
			t.Fatalf("it is %q", got)
		}
	}
	at := 1.0
	for n := range 3 {
		if table.IsBrief(server, at) {
			t.Errorf("said to be brief after %d new connections", n)
		}
		connect(low)
		at += 0.4
		table.At(low, at)
	}
	if !table.IsBrief(server, at) || table.IsBrief(server, at+2*GoneFor) || table.IsBrief([]string{"Socket"}, at) {
		t.Error("it is not said to be brief, or for ever, or of all sockets")
	}
	path := filepath.Join(t.TempDir(), "log")
	for range 5 {
		at += 0.1
		if table.At(open(t, path), at); table.IsBrief([]string{"File", path}, at) {
			t.Error("a file is said to be a brief connection")
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFewAreToldByTheirPaths: of very many files the first.
func TestFewAreToldByTheirPaths(t *testing.T) {
	reads := true
	table := NewHost(grid.NewTree()).Table(Config{PID: os.Getpid(), Word: new(words).of, MayRead: func() bool { return reads }})
	told := 0
	for i := range 3 * fewByPath {
		elems := []string{"File", fmt.Sprintf("/nowhere/%d", i)}
		table.Learn(kernel.FD{Kind: kernel.FDFile, Name: elems[1]}, 1)
		if _, ok := table.Number(elems, 1); ok && table.OpenedAs(elems, 1) != nil {
			told++
		}
	}
	if told != fewByPath {
		t.Errorf("%d files are told by their paths, want %d", told, fewByPath)
	}
	first := []string{"File", "/nowhere/0"}
	reads = false
	if table.OpenedAs(first, 1.5) == nil || table.OpenedAs(first, 3) != nil {
		t.Error("whether probes may read is not believed for a second, or for ever")
	}
	reads = true
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	beside := filepath.Join(filepath.Dir(cwd), "beside", "x")
	for path, want := range map[string][]string{cwd + "/x": {cwd + "/x", "x"}, beside: {beside, "../beside/x"}, "/x": {"/x"}} {
		if got := table.OpenedAs([]string{"File", path}, 5); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, elems := range [][]string{{"Socket", "/run/x"}, {"File", "memfd:x"}} {
		if got := table.OpenedAs(elems, 5); got != nil {
			t.Errorf("%q is opened as %q", elems, got)
		}
	}
}

// TestPipes: one pipe has one name in all processes, that of the other end when it was first seen; a FIFO has its path.
func TestPipes(t *testing.T) {
	p := pipeUsers{users: map[uint64][]int{7: {os.Getpid(), 1}, 8: {5}, 9: {1, 5, 6}}}
	pipe := func(inode uint64) kernel.FD { return kernel.FD{Kind: kernel.FDPipe, Name: "pipe", Inode: inode} }
	first := p.nameOf(pipe(7), os.Getpid())
	if !strings.HasPrefix(first, "pipe with ") || !strings.HasSuffix(first, "[1]") || p.nameOf(pipe(7), 1) != first {
		t.Errorf("%q, then %q", first, p.nameOf(pipe(7), 1))
	}
	if got := p.nameOf(pipe(8), 5); got != "pipe" {
		t.Errorf("nobody else has it: %q", got)
	}
	if got := p.nameOf(pipe(9), 1); !strings.HasSuffix(got, "[5] and 1 more") {
		t.Errorf("two others have it: %q", got)
	}
	if got := p.nameOf(kernel.FD{Kind: kernel.FDPipe, Name: "/run/fifo", Inode: 7, Dev: 3}, 1); got != "/run/fifo" {
		t.Errorf("a FIFO is %q", got)
	}
}
