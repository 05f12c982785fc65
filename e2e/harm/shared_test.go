package harm

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"culprit/internal/testprog"
)

// sharedText: two programs map the code of one library so that what is written there comes into the file. One of them is measured. In a round that
// is late it maps the library so when the probes are in.
func sharedText(late bool) func(*round) string {
	return func(r *round) string {
		library := filepath.Join(r.TempDir(), "libloaded.so")
		code, err := os.ReadFile(testprog.Build(r.T, "testdata/odd/loaded.c", "-shared", "-fPIC"))
		if err == nil {
			written := testprog.WritesProgram()
			err = os.WriteFile(library, code, 0o700)
			written()
		}
		if err != nil {
			r.Fatal(err)
		}
		args := []string{library}
		if late {
			args = append(args, "late")
		}
		bin := testprog.Build(r.T, "testdata/odd/sharedtext.c", "-ldl")
		p, other := r.target(bin, args...), r.target(bin, library)
		fmt.Fprintln(p.Stdin, "go")
		fmt.Fprintln(other.Stdin, "go")
		changed := make(chan bool)
		go func() { changed <- comesIntoFile(p, library, code, late) }()
		if !r.control() {
			r.run("attach", fmt.Sprint(p.PID), "--no-tui", "--no-search", "--for", "5s", "--watch", "procedure_calls@/Code/loaded.c/loaded_work")
		}
		if <-changed {
			return "the library's file was changed"
		}
		if harm := r.harmTo(other, ""); harm != "" {
			return "of the program that was not measured: " + harm
		}
		return r.harmTo(p, "")
	}
}

// comesIntoFile has a target that is late map its library, and watches the file for six seconds.
func comesIntoFile(p *testprog.Prog, file string, want []byte, late bool) bool {
	begin := time.Now()
	for time.Since(begin) < 6*time.Second {
		if late && time.Since(begin) > 3*time.Second && p.Alive() {
			fmt.Fprintln(p.Stdin, "map")
			late = false
		}
		if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, want) {
			return true
		}
		time.Sleep(50 * time.Millisecond)
	}
	return false
}
