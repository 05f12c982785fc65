package socket

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/internal/require"
)

// runtimeDir gives the test a directory as a login does.
func runtimeDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "culprit-socket-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("XDG_RUNTIME_DIR", dir)
	return dir
}

// A log keeps what a server tells.
type log struct{ lines chan string }

func newLog() *log { return &log{make(chan string, 1000)} }

func (l *log) add(text string) { l.lines <- text }

// await waits for a line that has a text in it.
func (l *log) await(t *testing.T, text string) {
	t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		select {
		case line := <-l.lines:
			if strings.Contains(line, text) {
				return
			}
		case <-timeout:
			t.Fatalf("nothing like %q was told", text)
		}
	}
}

func text(s string) Source { return func() ([]byte, error) { return []byte(s), nil } }

func listen(t *testing.T, l *log, sources map[string]Source) *Server {
	t.Helper()
	s, err := Listen(sources, nil, l.add)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func me(t *testing.T) Session {
	t.Helper()
	for _, s := range Sessions() {
		if s.PID == os.Getpid() {
			return s
		}
	}
	t.Fatal("our session is not listed")
	return Session{}
}

func wantKind(t *testing.T, err error, kind string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Errorf("%v, want the kind %s", err, kind)
	}
}

func TestAsk(t *testing.T) {
	dir := runtimeDir(t)
	old := unix.Umask(0)
	defer unix.Umask(old)
	s := listen(t, newLog(), map[string]Source{
		Snapshot: text(`{"schema":1}`), Version: func() ([]byte, error) { return nil, errors.New("no version") },
	})
	for path, want := range map[string]os.FileMode{filepath.Dir(s.Path()): 0o700 | os.ModeDir, s.Path(): 0o600 | os.ModeSocket} {
		if info, err := os.Lstat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v %v, want %v", path, info, err, want)
		}
	}
	if want := fmt.Sprintf("%s/culprit/%d.sock", dir, os.Getpid()); s.Path() != want {
		t.Errorf("%s, want %s", s.Path(), want)
	}
	session := me(t)
	if b, err := session.Ask(Snapshot); string(b) != `{"schema":1}`+"\n" || err != nil {
		t.Errorf("%q %v", b, err)
	}
	_, err := session.Ask(Version)
	wantKind(t, err, KindFailed)
	_, err = session.Ask("frobnicate\x1b[31m")
	wantKind(t, err, KindUnknown)
	if strings.ContainsRune(err.Error(), 0x1b) {
		t.Errorf("%q", err)
	}
	s.Close()
	s.Close()
	if _, err := session.Ask(Snapshot); err == nil {
		t.Error("a session that is closed answers")
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestPlaces: what the login has made is used if it is the user's own; else there is a directory below the temporary one.
func TestPlaces(t *testing.T) {
	uid := os.Geteuid()
	own := t.TempDir()
	t.Setenv("TMPDIR", own)
	fallback := filepath.Join(own, fmt.Sprintf("culprit-%d", uid))
	login := fmt.Sprintf("/run/user/%d", uid)
	if isDirOf(login, uid) {
		fallback = filepath.Join(login, "culprit")
	}
	for value, want := range map[string]string{own: filepath.Join(own, "culprit"), "": fallback, "relative": fallback, "/nowhere": fallback, "/proc/version": fallback} {
		t.Setenv("XDG_RUNTIME_DIR", value)
		if got := places(uid)[0]; got != want {
			t.Errorf("XDG_RUNTIME_DIR=%q: %s, want %s", value, got, want)
		}
	}
	t.Setenv("XDG_RUNTIME_DIR", own)
	if got := places(uid + 1)[0]; got == filepath.Join(own, "culprit") {
		t.Error("a directory of another user is used")
	}
}

// TestRefusedDirectories: a directory that somebody may have put there is not used.
func TestRefusedDirectories(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"link":        func(p string) error { return os.Symlink(os.TempDir(), p) },
		"broken link": func(p string) error { return os.Symlink("/nowhere", p) },
		"file":        func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"of another": func(p string) error {
			require.Root(t)
			return errors.Join(os.Mkdir(p, 0o700), os.Chown(p, 65534, 65534))
		},
	} {
		path := filepath.Join(runtimeDir(t), "culprit")
		if err := put(path); err != nil {
			t.Fatal(err)
		}
		if s, err := Listen(nil, nil, newLog().add); err == nil {
			s.Close()
			t.Errorf("%s is used", name)
		} else if !strings.Contains(err.Error(), "remove it") {
			t.Errorf("%s: %v", name, err)
		}
	}
	path := filepath.Join(runtimeDir(t), "culprit")
	if err := errors.Join(os.Mkdir(path, 0o777), os.Chmod(path, 0o777)); err != nil {
		t.Fatal(err)
	}
	listen(t, newLog(), nil)
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o700 {
		t.Errorf("others may use our directory: %v", info.Mode())
	}
}

// leave makes a socket on which nobody listens any more.
func leave(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
}

// TestLeftSockets: what a session has left that was killed goes away, and no more than that.
func TestLeftSockets(t *testing.T) {
	dir := filepath.Join(runtimeDir(t), "culprit")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	names := []string{fileName(os.Getpid()), fileName(gone.Process.Pid), fileName(1), "07.sock", "other"}
	for _, name := range names {
		leave(t, filepath.Join(dir, name))
	}
	s := listen(t, newLog(), map[string]Source{Version: text("{}")})
	if b, err := me(t).Ask(Version); err != nil {
		t.Errorf("our own was not replaced: %q %v", b, err)
	}
	if _, err := at(t, 1, dir).Ask(Version); err != ErrNoSession {
		t.Errorf("nobody listens: %v", err)
	}
	s.Close()
	for i, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name)); (err == nil) != (i > 1) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSocketInUse: what listens already is not replaced.
func TestSocketInUse(t *testing.T) {
	runtimeDir(t)
	s := listen(t, newLog(), map[string]Source{Version: text("{}")})
	if second, err := Listen(nil, nil, newLog().add); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("%v", err)
		second.Close()
	}
	if _, err := me(t).Ask(Version); err != nil {
		t.Error(err)
	}
	// A socket that another process listens on than its name says is not believed.
	other := filepath.Join(filepath.Dir(s.Path()), fileName(1))
	if err := os.Rename(s.Path(), other); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(other)
	if _, err := at(t, 1, filepath.Dir(other)).Ask(Version); err == nil || !strings.Contains(err.Error(), "listens on the socket of process 1") {
		t.Errorf("%v", err)
	}
}

func dial(t *testing.T, s *Server) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", s.Path())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

// kindOf reads an error that a server sends.
func kindOf(c net.Conn) string {
	line, err := bufio.NewReader(c).ReadBytes('\n')
	var f failure
	if json.Unmarshal(line, &f); f.Error == nil {
		return fmt.Sprintf("%q %v", line, err)
	}
	return f.Error.Kind
}

// TestStalledClients: clients that send nothing, too much, or read nothing are told and cut off, and nobody else waits for them.
func TestStalledClients(t *testing.T) {
	runtimeDir(t)
	l := newLog()
	s := listen(t, l, map[string]Source{Snapshot: text(strings.Repeat("x", 8<<20)), Version: text("{}")})
	silent, deaf, greedy := dial(t, s), dial(t, s), dial(t, s)
	io.WriteString(deaf, "snapshot\n")
	greedy.Write(make([]byte, 1<<20)) // as much as is taken
	began := time.Now()
	if _, err := me(t).Ask(Version); err != nil || time.Since(began) > 3*time.Second {
		t.Errorf("another client waited %v: %v", time.Since(began), err)
	}
	if kind := kindOf(greedy); kind != KindTooLong {
		t.Errorf("1 MiB without an end: %s", kind)
	}
	if kind := kindOf(silent); kind != KindTimeout {
		t.Errorf("nothing was sent: %s", kind)
	}
	l.await(t, "does not read its answer")
	if n, err := io.Copy(io.Discard, deaf); n >= 8<<20 || err != nil {
		t.Errorf("who does not read has got %d bytes: %v", n, err)
	}
}

// TestCloseCutsOff: the end of a session waits for no client.
func TestCloseCutsOff(t *testing.T) {
	runtimeDir(t)
	s := listen(t, newLog(), map[string]Source{Snapshot: text(strings.Repeat("x", 8<<20))})
	dial(t, s)
	io.WriteString(dial(t, s), "snapshot\n")
	time.Sleep(100 * time.Millisecond)
	began := time.Now()
	s.Close()
	if d := time.Since(began); d > time.Second {
		t.Errorf("it took %v", d)
	}
}

// TestManyClients: of a hundred clients at once most are told that there are too many, and the next one is served.
func TestManyClients(t *testing.T) {
	runtimeDir(t)
	s := listen(t, newLog(), map[string]Source{Version: text("{}")})
	var all []net.Conn
	for range 100 {
		all = append(all, dial(t, s))
	}
	for _, c := range all[maxClients:] {
		if kind := kindOf(c); kind != KindBusy {
			t.Fatal(kind)
		}
	}
	for _, c := range all {
		c.Close()
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := me(t).Ask(Version); err == nil {
			return
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// TestAnswersAreShared: however many ask, an answer is made a few times a second.
func TestAnswersAreShared(t *testing.T) {
	runtimeDir(t)
	var made atomic.Int64
	s := listen(t, newLog(), map[string]Source{Snapshot: func() ([]byte, error) { made.Add(1); return []byte("{}"), nil }})
	began, asked := time.Now(), 0
	for ; time.Since(began) < time.Second; asked++ {
		if _, err := me(t).Ask(Snapshot); err != nil {
			t.Fatal(err)
		}
	}
	if n := made.Load(); n > int64(time.Since(began)/fresh)+1 {
		t.Errorf("made %d times for %d clients", n, asked)
	}
	if asked > 2*maxAccepts {
		t.Errorf("%d clients in a second", asked)
	}
	s.Close()
}

// TestFewNotes: who is refused again and again does not fill the log.
func TestFewNotes(t *testing.T) {
	runtimeDir(t)
	l := newLog()
	listen(t, l, nil)
	for range 3 * maxNotes {
		me(t).Ask("nothing")
	}
	if n := len(l.lines); n != maxNotes+1 {
		t.Errorf("%d lines", n)
	}
}

// asForeigner is set in the environment of a process that connects as another user.
const asForeigner = "CULPRIT_TEST_SOCKET"

// TestForeigner is run by TestAnotherUser, as another user.
func TestForeigner(t *testing.T) {
	path := os.Getenv(asForeigner)
	if path == "" {
		return
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		fmt.Println("DIAL", err)
		return
	}
	io.WriteString(c, "snapshot\n")
	fmt.Println("KIND", kindOf(c))
}

// serveIn is set in the environment of a process that serves as another user.
const serveIn = "CULPRIT_TEST_SERVE"

// TestForeignServer is run by TestRootAsksAll, as another user.
func TestForeignServer(t *testing.T) {
	if os.Getenv(serveIn) == "" {
		return
	}
	s, err := Listen(map[string]Source{Version: text(`{"tool":"of another"}`)}, nil, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	fmt.Println("READY")
	io.Copy(io.Discard, os.Stdin)
}

// TestRootAsksAll: root may ask the sessions of others, and is not led elsewhere by a link in their directories.
func TestRootAsksAll(t *testing.T) {
	require.Root(t)
	tmp := runtimeDir(t)
	if err := os.Chmod(tmp, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", tmp)
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestForeignServer$", "-test.v")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Env, cmd.Dir = []string{serveIn + "=1", "TMPDIR=" + tmp}, "/"
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer stdin.Close()
	for lines := bufio.NewScanner(stdout); lines.Scan() && lines.Text() != "READY"; {
	}
	listen(t, newLog(), map[string]Source{Version: text("{}")})
	dir := filepath.Join(tmp, "culprit-65534")
	if b, err := at(t, cmd.Process.Pid, dir).Ask(Version); err != nil || !strings.Contains(string(b), "of another") {
		t.Errorf("%q %v", b, err)
	}
	link := filepath.Join(dir, fileName(os.Getpid()))
	if err := os.Symlink(filepath.Join(tmp, "culprit", fileName(os.Getpid())), link); err != nil {
		t.Fatal(err)
	}
	found := map[Session]bool{}
	for _, s := range Sessions() {
		found[s] = true
	}
	if !found[at(t, cmd.Process.Pid, dir)] {
		t.Errorf("root does not see the session of another: %v", found)
	}
	if b, err := at(t, os.Getpid(), dir).Ask(Version); err == nil || !strings.Contains(err.Error(), "belongs to uid 65534, and uid 0 listens") {
		t.Errorf("a link leads to %q %v", b, err)
	}
	if err := os.Remove(link); err != nil {
		t.Error(err)
	}
}

// TestAnotherUser: a process of another user cannot come to the socket, and is refused where it can.
func TestAnotherUser(t *testing.T) {
	require.Root(t)
	dir := runtimeDir(t)
	l := newLog()
	s := listen(t, l, map[string]Source{Snapshot: text("secret")})
	foreigner := func() string {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestForeigner$", "-test.v")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		cmd.Env, cmd.Dir = []string{asForeigner + "=" + s.Path()}, "/"
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if out := foreigner(); !strings.Contains(out, "DIAL") || !strings.Contains(out, "permission denied") {
		t.Errorf("the modes of files let it in: %s", out)
	}
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(s.Path()), 0o755), os.Chmod(s.Path(), 0o666)); err != nil {
		t.Fatal(err)
	}
	if out := foreigner(); !strings.Contains(out, "KIND "+KindForbidden) || strings.Contains(out, "secret") {
		t.Errorf("another user is let in: %s", out)
	}
	l.await(t, "of uid 65534 may not ask this session")
}

// at is the session of a process in a directory, of its owner.
func at(t *testing.T, pid int, dir string) Session {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	return Session{pid, int(st.Uid), dir}
}

// TestActs: an act is done for each request, with what follows its name; it is refused as a source is.
func TestActs(t *testing.T) {
	runtimeDir(t)
	var did []string
	s, err := Listen(nil, map[string]Act{Phase: func(name string) ([]byte, error) {
		if did = append(did, name); name == "bad" {
			return nil, errors.New("it cannot be")
		}
		return []byte(`{}`), nil
	}}, newLog().add)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	session := me(t)
	for _, request := range []string{"phase", "phase a b", "phase a b"} {
		if b, err := session.Ask(request); string(b) != "{}\n" || err != nil {
			t.Errorf("%s: %q %v", request, b, err)
		}
	}
	_, err = session.Ask("phase bad")
	wantKind(t, err, KindFailed)
	_, err = session.Ask("phases")
	wantKind(t, err, KindUnknown)
	if got := strings.Join(did, "|"); got != "|a b|a b|bad" {
		t.Errorf("did %q", got)
	}
}
