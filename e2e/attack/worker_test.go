package attack

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"culprit/internal/testprog"
)

// firstUser is the attacker's user id, which has no rights of any kind. Those below it are those of the other workers: all processes
// of a worker's attackers are known by it. anotherUser owns a victim.
const (
	firstUser   = 65034
	anotherUser = 65035
)

// A worker runs one round after the other, in directories and beside victims of its own.
type worker struct {
	t       *testing.T
	uid     int
	culprit string // a path of its own, by which its processes are known
	empty   string // where culprit runs; nothing may appear there
	home    string // of culprit
	tmp     string // where culprit may keep temporary files while it runs
	files   string // the directory of the victims' files
	victims []*testprog.Prog
	before  map[string]string // what the victims' files were
	mounts  string
	now     *draw
	harms   []harm

	master      *exec.Cmd     // the target, if it is root's
	masterEnded chan struct{} // closed when it has ended
}

// A harm is something that a round has done to others.
type harm struct{ kind, text string }

func (w *worker) harm(kind, format string, args ...any) {
	w.harms = append(w.harms, harm{kind, fmt.Sprintf("%v (-seed %d -only %d): %s", w.now, *seedFlag, w.now.number, fmt.Sprintf(format, args...))})
}

func newWorker(t *testing.T, i int, victim string) *worker {
	top, err := os.MkdirTemp(filepath.Dir(culprit), "worker")
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{t: t, uid: firstUser - i, culprit: filepath.Join(top, "culprit"), empty: filepath.Join(top, "empty"), home: filepath.Join(top, "home"),
		tmp: filepath.Join(top, "tmp"), files: filepath.Join(top, "files")}
	w.must(os.Chmod(filepath.Dir(culprit), 0o711), os.Chmod(top, 0o711), os.Link(culprit, w.culprit))
	for _, dir := range []string{w.empty, w.home, w.tmp} {
		w.must(os.Mkdir(dir, 0o700))
	}
	w.must(os.Mkdir(w.files, 0o711)) // to be passed through, as /etc is
	w.layFiles()
	w.mounts = mounts()
	w.startVictims(victim)
	return w
}

func (w *worker) must(errs ...error) {
	w.t.Helper()
	for _, err := range errs {
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// layFiles makes the victims' files.
func (w *worker) layFiles() {
	for name, size := range map[string]int{"small": 10, "middle": 64 << 10, "large": 4 << 20} {
		w.must(os.WriteFile(filepath.Join(w.files, name), slices.Repeat([]byte("victim. "), size/8+1)[:size], 0o600))
	}
	w.before = w.look()
}

// startVictims starts a process of root and one of another user.
func (w *worker) startVictims(bin string) {
	data := mustRead(w.t, bin)
	path := filepath.Join(filepath.Dir(w.culprit), "victim")
	w.must(os.WriteFile(path, data, 0o755))
	for _, uid := range []uint32{0, anotherUser} {
		cmd := exec.Command(path)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}, Setpgid: true}
		p := testprog.StartCmd(w.t, cmd)
		p.Expect(w.t, "READY", 10*time.Second)
		w.victims = append(w.victims, p)
	}
}

// look says what each of the victims' files is: its content, size, mode, owner and times of change.
func (w *worker) look() map[string]string {
	seen := map[string]string{}
	entries, err := os.ReadDir(w.files)
	w.must(err)
	for _, e := range entries {
		path := filepath.Join(w.files, e.Name())
		var st syscall.Stat_t
		w.must(syscall.Lstat(path, &st))
		content := "too large"
		if st.Size < 64<<20 {
			content = fmt.Sprintf("%x", sha256.Sum256(mustRead(w.t, path)))[:16]
		}
		seen[e.Name()] = fmt.Sprintf("%d bytes, mode %o, uid %d, changed %d.%d, %d.%d, %s", st.Size, st.Mode, st.Uid, st.Mtim.Sec, st.Mtim.Nsec,
			st.Ctim.Sec, st.Ctim.Nsec, content)
	}
	return seen
}

func mounts() string {
	b, _ := os.ReadFile("/proc/self/mountinfo")
	return string(b)
}

// judge compares the world with what it was before the round.
func (w *worker) judge() {
	after := w.look()
	for name := range after {
		if after[name] != w.before[name] {
			w.harm("files", "%s was %q and is %q", name, w.before[name], after[name])
		}
	}
	if len(after) < len(w.before) {
		w.harm("files", "a file of a victim is gone")
	}
	if !maps.Equal(after, w.before) {
		w.layFiles()
	}
	w.judgeVictims()
	if now := mounts(); now != w.mounts {
		w.harm("mounts", "they were\n%s\nand are\n%s", w.mounts, now)
		w.mounts = now
	}
	for _, dir := range []string{w.empty, w.tmp} {
		entries, err := os.ReadDir(dir)
		entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return e.IsDir() && e.Name() == sockets })
		if err != nil || len(entries) > 0 {
			w.harm("environment", "in %s there are %v, %v", dir, entries, err)
			w.must(os.RemoveAll(dir), os.Mkdir(dir, 0o700))
		}
	}
	w.must(os.RemoveAll(filepath.Join(w.tmp, sockets)))
	w.judgeStrays()
}

// sockets is the directory of root's sockets, which a culprit that is killed leaves; the next one uses it again.
const sockets = "culprit-0"

func (w *worker) judgeVictims() {
	for i, p := range w.victims {
		lines := p.Lines()
		switch {
		case !p.Alive():
			w.harm("processes", "a victim has ended")
			w.t.FailNow()
		case len(lines) > 1:
			w.harm("processes", "victim %d got %q", i, lines[1:])
		}
	}
	if slices.ContainsFunc(w.victims, func(p *testprog.Prog) bool { return len(p.Lines()) > 1 }) {
		bin := filepath.Join(filepath.Dir(w.culprit), "victim")
		data := mustRead(w.t, bin)
		for _, p := range w.victims {
			p.Kill()
		}
		w.victims = nil
		w.must(os.Remove(bin), os.WriteFile(bin+".o", data, 0o755))
		w.startVictims(bin + ".o")
	}
}

// judgeStrays looks for processes of this worker's culprits, which should all have ended.
func (w *worker) judgeStrays() {
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		strays := processes(func(pid int) bool {
			exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
			return err == nil && exe == w.culprit
		})
		if len(strays) == 0 {
			return
		}
		if time.Since(began) > 5*time.Second {
			w.harm("environment", "processes %v of culprit still run", strays)
			kill(strays)
			return
		}
	}
}

// processes are those for which what is given holds.
func processes(holds func(pid int) bool) (pids []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		var pid int
		if _, err := fmt.Sscan(filepath.Base(dir), &pid); err == nil && holds(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// isMine reports whether a process belongs to this worker's attacker.
func (w *worker) isMine(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && strings.Contains(string(status), fmt.Sprintf("\nUid:\t%d\t", w.uid)) && !strings.Contains(string(status), "\nState:\tZ")
}

func kill(pids []int) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
}

// endAttackers ends all processes of this worker's attacker, until there are none.
func (w *worker) endAttackers() {
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(5 * time.Millisecond) {
		mine := processes(w.isMine)
		if len(mine) == 0 {
			return
		}
		kill(mine)
	}
	w.harm("attacker", "its processes %v cannot be ended", processes(w.isMine))
}
