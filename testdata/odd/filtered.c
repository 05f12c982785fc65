/* A program under a filter that lets the calls pass which it makes, and not the one that the kernel makes for a thread that was broken
 * out of a wait: restart_syscall.
 * filtered [poll|nanosleep|clock|futex|until] [kill|thread|trap|errno|trace] [before|late]: in which call its threads wait, what the filter
 * does, and whether it is there from the start or comes when the program has run for 1.5 s, for all threads. */
#include "target.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { WAITERS = 3 };
static const char *call = "poll";
static long lengths_ms[WAITERS] = {5, 60, 700};
static uint64_t waits[WAITERS];

static void on_sys(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	target_bad("call %d met the filter", info->si_syscall);
}

static uint32_t action_of(const char *name)
{
	return strcmp(name, "thread") == 0  ? SECCOMP_RET_KILL_THREAD
	       : strcmp(name, "trap") == 0  ? SECCOMP_RET_TRAP
	       : strcmp(name, "errno") == 0 ? SECCOMP_RET_ERRNO | EPERM
	       : strcmp(name, "trace") == 0 ? SECCOMP_RET_TRACE
					    : SECCOMP_RET_KILL_PROCESS;
}

static void install_filter(uint32_t action)
{
	struct sigaction sa = {.sa_sigaction = on_sys, .sa_flags = SA_SIGINFO};
	sigaction(SIGSYS, &sa, NULL);
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_restart_syscall, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
		target_bad("seccomp: %s", strerror(errno));
}

/* wait_once returns what the call gave; a wait that ends by its time gives 0. */
static int wait_once(long ms)
{
	static uint32_t word;
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000};
	if (strcmp(call, "nanosleep") == 0)
		return nanosleep(&ts, NULL) == 0 ? 0 : errno;
	if (strcmp(call, "clock") == 0)
		return clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
	if (strcmp(call, "futex") == 0)
		return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &ts, NULL, 0) == -1 && errno == ETIMEDOUT ? 0 : errno;
	if (strcmp(call, "until") == 0) {
		clock_gettime(CLOCK_MONOTONIC, &ts);
		ts.tv_sec += (ts.tv_nsec + ms * 1000000) / 1000000000;
		ts.tv_nsec = (ts.tv_nsec + ms * 1000000) % 1000000000;
		return syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, &ts, NULL, ~0u) == -1 && errno == ETIMEDOUT ? 0 : errno;
	}
	return poll(NULL, 0, (int)ms) == 0 ? 0 : errno;
}

static void *waiter(void *arg)
{
	uint64_t *mine = arg;
	long ms = lengths_ms[mine - waits];
	while (!target_stopping) {
		uint64_t begun = target_now_ns();
		int error = wait_once(ms);
		uint64_t took = target_now_ns() - begun;
		if (error)
			target_bad("%s: %s", call, strerror(error));
		if (took < (uint64_t)ms * 1000000)
			target_bad("%s of %ld ms was over after %ld us", call, ms, (long)(took / 1000));
		if (took > (uint64_t)ms * 2000000 + 2000000000u)
			target_bad("%s of %ld ms was over after %ld ms only", call, ms, (long)(took / 1000000));
		(*mine)++;
	}
	return NULL;
}

NOINLINE uint64_t work(uint64_t seed)
{
	uint64_t h = seed;
	__asm__ volatile("" : "+r"(h)); /* so that it is called each time */
	for (int i = 0; i < 2000; i++)
		h = target_mix(h, (uint64_t)i);
	return h;
}

int main(int argc, char **argv)
{
	pthread_t t[WAITERS];
	target_start();
	if (argc > 1)
		call = argv[1];
	uint32_t action = action_of(argc > 2 ? argv[2] : "kill");
	int late = argc > 3 && strcmp(argv[3], "late") == 0;
	if (!late)
		install_filter(action);
	for (long i = 0; i < WAITERS; i++)
		if (pthread_create(&t[i], NULL, waiter, &waits[i]))
			target_bad("pthread_create");
	uint64_t hash = work(1), begun = target_now_ns();
	while (target_running()) {
		for (int i = 0; i < 20; i++)
			if (work(1) != hash)
				target_bad("hash differs");
		target_poll(2);
		if (late && target_now_ns() - begun > 1500000000) {
			install_filter(action);
			late = 0;
		}
	}
	for (long i = 0; i < WAITERS; i++)
		pthread_join(t[i], NULL);
	return target_finish(hash);
}
