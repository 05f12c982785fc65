/* A filter that kills the whole process at mmap, memfd_create, openat and ptrace: a tool that injects such a call
 * would kill the program. mprotect and munmap stay allowed, since the C library may need them at the end.
 * seccomp [kill|thread|trap|errno|trace] [late]: what the filter does instead; nobody may meet it, whatever it is. A late one comes
 * when the program is told to go. */
#include "target.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ACT_AT(nr) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), BPF_STMT(BPF_RET | BPF_K, action)

static uint32_t action_of(const char *name)
{
	return strcmp(name, "thread") == 0  ? SECCOMP_RET_KILL_THREAD
	       : strcmp(name, "trap") == 0  ? SECCOMP_RET_TRAP
	       : strcmp(name, "errno") == 0 ? SECCOMP_RET_ERRNO | EPERM
	       : strcmp(name, "trace") == 0 ? SECCOMP_RET_TRACE
					    : SECCOMP_RET_KILL_PROCESS;
}

static void on_sys(int sig)
{
	(void)sig;
	target_bad("somebody has met the filter");
}

static void install_filter(uint32_t action)
{
	signal(SIGSYS, on_sys);
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ACT_AT(SYS_mmap),
		ACT_AT(SYS_memfd_create),
		ACT_AT(SYS_openat),
		ACT_AT(SYS_ptrace),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		target_bad("seccomp: %s", strerror(errno));
}

NOINLINE uint64_t work(uint64_t seed)
{
	uint64_t h = seed;
	for (int i = 0; i < 2000; i++)
		h = target_mix(h, (uint64_t)i);
	return h;
}

int main(int argc, char **argv)
{
	target_start();
	uint64_t hash = work(1), n = 1;
	if (argc > 2 && strcmp(argv[2], "late") == 0)
		target_wait_go();
	install_filter(action_of(argc > 1 ? argv[1] : "kill"));
	while (target_running()) {
		for (int i = 0; i < 20; i++, n++)
			if (work(1) != hash)
				target_bad("hash differs");
		target_sleep_us(200);
	}
	target_count("work", n);
	return target_finish(hash);
}
