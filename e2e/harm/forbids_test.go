package harm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"culprit/internal/require"
)

// forbidding attaches to a program whose threads forbid themselves what probes do: with all rights, and with none.
func forbidding(what string) func(*round) string {
	return func(r *round) string {
		bin := r.build("forbids.c")
		span, late := 2*time.Second, strings.Contains(what, "late")
		if late {
			span = 6 * time.Second
		}
		p := r.targetOf(nobody, bin, what)
		if r.control() {
			time.Sleep(time.Second)
			return r.harmTo(p, "")
		}
		watch := []string{"--watch", "exec_time_inclusive@/Code/forbids.c/*", "--watch", "procedure_calls@/Code/forbids.c/*"}
		if harm := r.harmOfAttach(p, span, watch...); harm != "" || r.culprit == uprobes || late && what != "dispatch-late" {
			return harm // without rights it is not seen that the counter is forbidden late
		}
		return r.harmAsNobody(bin, what, span, watch)
	}
}

// harmAsNobody is what an attach by a user without rights does to a program of that user.
func (r *round) harmAsNobody(bin, what string, span time.Duration, watch []string) string {
	p := r.targetOf(nobody, bin, what)
	other := &round{T: r.T, culprit: r.asNobody()}
	said := other.attach(p, span, watch...)
	r.Logf("as nobody: status %d, %s", said.status, strings.TrimSpace(said.err))
	return r.harmTo(p, "")
}

// asNobody writes a script that runs culprit without rights.
func (r *round) asNobody() (script string) {
	require.Tool(r.T, "setpriv")
	script = filepath.Join(allCanSee, "nobody-"+filepath.Base(r.TempDir()))
	text := fmt.Sprintf("#!/bin/sh\nunset XDG_CONFIG_HOME XDG_CACHE_HOME\nHOME=/ exec setpriv --reuid %[1]d --regid %[1]d --clear-groups %[2]s \"$@\"\n", nobody, r.share(r.culprit))
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		r.Fatal(err)
	}
	return script
}
