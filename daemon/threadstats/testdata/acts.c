/* acts: does one thing for each line that it reads, and says DONE and what it knows itself of it. */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int64_t now(clockid_t id)
{
	struct timespec ts;
	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void nap(long ns)
{
	struct timespec ts = {ns / 1000000000, ns % 1000000000};
	nanosleep(&ts, NULL);
}

static void *spin(void *arg)
{
	for (int64_t end = now(CLOCK_MONOTONIC) + (intptr_t)arg; now(CLOCK_MONOTONIC) < end;)
		;
	return NULL;
}

static void pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof set, &set);
}

/* queue: two threads want the same processor. */
static void queue(long ms)
{
	pthread_t t;
	pin(0);
	pthread_create(&t, NULL, spin, (void *)(intptr_t)(ms * 1000000));
	spin((void *)(intptr_t)(ms * 1000000));
	pthread_join(t, NULL);
}

/* switches: leaves the processor in every way. */
static void switches(long n)
{
	for (long i = 0; i < n; i++) {
		nap(20000);
		sched_yield();
	}
}

/* touching is how long it takes to write to, or to read from, pages that are not there. */
static int64_t touching(long n, int write)
{
	char *p = mmap(NULL, n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(p, n * 4096, MADV_NOHUGEPAGE);
	int64_t began = now(CLOCK_THREAD_CPUTIME_ID);
	for (long i = 0; i < n; i++)
		if (write)
			p[i * 4096] = 1;
		else
			(void)*(volatile char *)(p + i * 4096);
	int64_t took = now(CLOCK_THREAD_CPUTIME_ID) - began;
	munmap(p, n * 4096);
	return took;
}

/* faults: touches pages that are not there. Who reads gets the one empty page, which takes little but the way into the kernel and back. */
static void faults(long n)
{
	struct rusage a, b;
	getrusage(RUSAGE_THREAD, &a);
	int64_t wrote = touching(n, 1), read = touching(n, 0);
	getrusage(RUSAGE_THREAD, &b);
	printf("DONE %ld %ld %lld %lld\n", b.ru_minflt - a.ru_minflt, b.ru_majflt - a.ru_majflt, (long long)wrote, (long long)read);
}

/* calls: getppid n times, and n reads of a byte. */
static void calls(long n)
{
	char byte;
	int fd = open("/dev/zero", O_RDONLY);
	int64_t began = now(CLOCK_THREAD_CPUTIME_ID);
	for (long i = 0; i < n; i++) {
		syscall(SYS_getppid);
		if (read(fd, &byte, 1) != 1)
			_exit(9);
	}
	printf("DONE %ld %lld\n", 2 * n, (long long)(now(CLOCK_THREAD_CPUTIME_ID) - began));
	close(fd);
}

/* sockets: n bytes through a pair. */
static void sockets(long n)
{
	static char buffer[1000];
	int fd[2];
	long sent = 0, got = 0;
	socketpair(AF_UNIX, SOCK_STREAM, 0, fd);
	while (sent < n) {
		sent += send(fd[0], buffer, sizeof buffer, 0);
		got += read(fd[1], buffer, sizeof buffer);
	}
	printf("DONE %ld %ld\n", sent, got);
	close(fd[0]);
	close(fd[1]);
}

/* scratch is a file of n bytes on a disk, none of it in memory. */
static int scratch(long n)
{
	static char block[65536], path[] = "/var/tmp/culprit-acts-XXXXXX";
	int fd = mkstemp(path);
	unlink(path);
	strcpy(path, "/var/tmp/culprit-acts-XXXXXX");
	memset(block, 1, sizeof block);
	for (long at = 0; at < n; at += sizeof block)
		if (write(fd, block, sizeof block) != sizeof block)
			_exit(9);
	if (fsync(fd))
		_exit(9);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return fd;
}

/* files writes n bytes to a disk and reads them from there. */
static void files(long n)
{
	static char block[65536];
	int fd = scratch(n);
	for (long at = 0; at < n; at += sizeof block)
		if (pread(fd, block, sizeof block, at) != sizeof block)
			_exit(9);
	close(fd);
}

/* mapped touches n pages of a file that are not in memory. */
static void mapped(long n)
{
	struct rusage a, b;
	int fd = scratch(n * 65536);
	const volatile char *p = mmap(NULL, n * 65536, PROT_READ, MAP_SHARED, fd, 0);
	madvise((void *)p, n * 65536, MADV_RANDOM);
	getrusage(RUSAGE_THREAD, &a);
	for (long i = 0; i < n; i++)
		(void)p[i * 65536];
	getrusage(RUSAGE_THREAD, &b);
	munmap((void *)p, n * 65536);
	close(fd);
	printf("DONE %ld %ld\n", b.ru_minflt - a.ru_minflt, b.ru_majflt - a.ru_majflt);
}

static void *briefly(void *arg)
{
	(void)arg;
	nap(200000);
	return NULL;
}

/* reuse: n threads one after the other. */
static void reuse(long n)
{
	for (long i = 0; i < n; i++) {
		pthread_t t;
		pthread_create(&t, NULL, briefly, NULL);
		pthread_join(t, NULL);
	}
}

static void *reuser(void *arg)
{
	reuse((intptr_t)arg);
	return NULL;
}

/* storm: four threads do that at once. */
static void storm(long n)
{
	pthread_t all[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&all[i], NULL, reuser, (void *)(intptr_t)n);
	for (int i = 0; i < 4; i++)
		pthread_join(all[i], NULL);
}

static volatile int thin;
static void *loiter(void *arg)
{
	while (!thin || (intptr_t)arg % 2)
		nap(2000000);
	return NULL;
}

/* crowd makes n threads that stay; half of them end when the line "thin" comes. */
static void crowd(long n)
{
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (long i = 0; i < n; i++) {
		pthread_t t;
		if (pthread_create(&t, &small, loiter, (void *)(intptr_t)i))
			_exit(9);
	}
}

/* raw makes a thread without a C library: it sleeps, and ends. */
static void raw(unsigned long flags, unsigned long tls)
{
	static char stack[4096] __attribute__((aligned(16)));
	static volatile int gone;
	static struct timespec ts = {0, 20000000};
	gone = 1;
	register unsigned long r10 __asm__("r10") = (unsigned long)&gone;
	register unsigned long r8 __asm__("r8") = tls;
	long ret;
	flags |= CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
	__asm__ volatile("syscall\n\t"
			 "test %%eax, %%eax\n\t"
			 "jnz 2f\n\t"
			 "mov $5, %%ebx\n"
			 "1:\tmov $35, %%eax\n\t" /* nanosleep */
			 "lea %[ts], %%rdi\n\t"
			 "xor %%esi, %%esi\n\t"
			 "syscall\n\t"
			 "dec %%ebx\n\t"
			 "jnz 1b\n\t"
			 "mov $60, %%eax\n\t" /* exit */
			 "xor %%edi, %%edi\n\t"
			 "syscall\n"
			 "2:"
			 : "=a"(ret)
			 : "a"(56L), "D"(flags), "S"(stack + sizeof stack), "d"(0L), "r"(r10), "r"(r8), [ts] "m"(ts)
			 : "rcx", "r11", "rbx", "memory");
	while (gone)
		nap(1000000);
}

/* filter has a program look at system calls, which lets all of them go. */
static void filter(void)
{
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {1, &all};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		_exit(9);
}

int main(int argc, char **argv)
{
	char word[16];
	long n;
	(void)argc;
	printf("READY %llu\n", (unsigned long long)pthread_self());
	fflush(stdout);
	while (scanf("%15s %ld", word, &n) == 2) {
		if (!strcmp(word, "queue"))
			queue(n);
		else if (!strcmp(word, "switches"))
			switches(n);
		else if (!strcmp(word, "reuse"))
			reuse(n);
		else if (!strcmp(word, "nap"))
			nap(n);
		else if (!strcmp(word, "sharing"))
			raw(0, 0);
		else if (!strcmp(word, "keyless"))
			raw(CLONE_SETTLS, 0);
		else if (!strcmp(word, "files"))
			files(n);
		else if (!strcmp(word, "mapped"))
			mapped(n);
		else if (!strcmp(word, "storm"))
			storm(n);
		else if (!strcmp(word, "crowd"))
			crowd(n);
		else if (!strcmp(word, "thin"))
			thin = 1;
		else if (!strcmp(word, "filter"))
			filter();
		else if (!strcmp(word, "exec"))
			execv("/proc/self/exe", argv);
		else if (!strcmp(word, "faults"))
			faults(n);
		else if (!strcmp(word, "calls"))
			calls(n);
		else if (!strcmp(word, "sockets"))
			sockets(n);
		if (strcmp(word, "faults") && strcmp(word, "calls") && strcmp(word, "sockets") && strcmp(word, "mapped"))
			printf("DONE\n");
		fflush(stdout);
	}
	return 0;
}
