package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// seccompSource goes under a filter that kills the process for mmap (mode "kill"), answers it with EPERM ("errno"), or into strict mode.
const seccompSource = `
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <linux/seccomp.h>
#include <linux/filter.h>
int main(int argc, char **argv) { char c;
  if (!strcmp(argv[1], "strict")) { puts("ready"); fflush(stdout); prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT); while (read(0, &c, 1) > 0); write(1, "end 1\n", 6); syscall(SYS_exit, 0); }
  unsigned act = !strcmp(argv[1], "kill") ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | 1;
  struct sock_filter f[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 1), BPF_STMT(BPF_RET | BPF_K, act), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
  struct sock_fprog p = {4, f}; puts("starting"); prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p); prctl(PR_SET_DUMPABLE, 1);
  puts("ready"); fflush(stdout); while (read(0, &c, 1) > 0); puts("end 1"); return 0; }
`

func mapPage(w *World) error {
	_, err := w.Mmap(0, raw.PageSize, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, -1, 0)
	return err
}

func TestSeccompFilter(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("suspending a filter needs CAP_SYS_ADMIN")
	}
	for _, mode := range []string{"kill", "errno"} {
		tg := start(t, compile(t, seccompSource), mode)
		p := open(t, tg.pid())
		for range 20 {
			stop(t, p, mapPage)
		}
		if s, err := raw.ReadStatus(tg.pid(), 0); err != nil || s.Seccomp != 2 {
			t.Errorf("seccomp mode %d afterwards, %v", s.Seccomp, err)
		}
		if res := tg.finish(); res["end"] != 1 {
			t.Errorf("%s: %v", mode, res)
		}
	}
}

func TestSeccompStrict(t *testing.T) {
	tg := start(t, compile(t, seccompSource), "strict")
	p := open(t, tg.pid())
	eventually(t, "strict mode", func() bool { i, err := p.Info(); return err == nil && i.Seccomp == 1 })
	var u *raw.Unsupported
	if _, err := p.Stop(t.Context(), StopOptions{}, mapPage); !errors.As(err, &u) || !strings.Contains(u.What, "strict") {
		t.Errorf("%v", err)
	}
	if res := tg.finish(); res["end"] != 1 {
		t.Errorf("%v", res)
	}
}

func init() { helpers["mapper"] = mapper }

// mapper tries to map a page in a process and prints what came of it.
func mapper(args []string) int {
	p, err := Open(atoi(args[0]))
	if err == nil {
		defer p.Close() // an end without it is like a kill: it may come between a thread's interrupt and its stop, for a wait that is over
		_, err = p.Stop(context.Background(), StopOptions{}, mapPage)
	}
	if err != nil {
		os.Stdout.WriteString(err.Error())
	}
	return 0
}

// TestSeccompWithoutRights: who may not suspend the filter is refused, and the target lives.
func TestSeccompWithoutRights(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to become another user")
	}
	cred := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd := exec.Command(compile(t, seccompSource), "kill")
	cmd.SysProcAttr = cred
	tg := startCmd(t, cmd)
	if out := runAs(t, 65534, "mapper", tg.pid()); !strings.Contains(out, "seccomp filter") || !strings.Contains(out, "CAP_SYS_ADMIN") {
		t.Errorf("%q", out)
	}
	if res := tg.finish(); res["end"] != 1 {
		t.Errorf("%v", res)
	}
}
