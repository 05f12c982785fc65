/* One thread does what the kernel keeps account of, and says what the account was: minor and major page faults, waiting and
 * being displaced, processor time in user and in kernel mode.
 * account [path] [ms of each mode]; without a path a file in the current directory, removed at the end. */
#include "target.h"
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

enum { PAGES = 5000, FILE_PAGES = 64, SLEEPS = 300, PAGE = 4096 };
static int go_pipe[2], file;
static long ms;
static struct rusage before, after;
static volatile uint64_t result;
static volatile pid_t worker_tid;
static volatile int worked;

NOINLINE void fault_minor(void)
{
	char *m = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m == MAP_FAILED)
		target_bad("mmap: %s", strerror(errno));
	madvise(m, PAGES * PAGE, MADV_NOHUGEPAGE);
	for (int i = 0; i < PAGES; i++)
		m[i * PAGE] = 1;
	munmap(m, PAGES * PAGE);
}

/* fault_major reads pages of a file that the kernel was asked to forget, without reading ahead. */
NOINLINE void fault_major(void)
{
	char *m = mmap(NULL, FILE_PAGES * PAGE, PROT_READ, MAP_SHARED, file, 0);
	if (m == MAP_FAILED)
		target_bad("mmap: %s", strerror(errno));
	madvise(m, FILE_PAGES * PAGE, MADV_RANDOM);
	posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
	for (int i = 0; i < FILE_PAGES; i++)
		result += (uint64_t)m[i * PAGE];
	munmap(m, FILE_PAGES * PAGE);
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

NOINLINE void burn_user(void)
{
	uint64_t h = 1, end = cpu_ns() + (uint64_t)ms * 1000000u;
	do
		for (int i = 0; i < 200000; i++)
			h = target_mix(h, (uint64_t)i);
	while (cpu_ns() < end);
	result += h;
}

NOINLINE void burn_system(void)
{
	static char buf[1 << 20];
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	uint64_t end = cpu_ns() + (uint64_t)ms * 1000000u;
	do
		if (read(zero, buf, sizeof buf) != sizeof buf)
			target_bad("/dev/zero");
	while (cpu_ns() < end);
	close(zero);
}

static void *worker(void *arg)
{
	char c;
	(void)arg;
	worker_tid = (pid_t)syscall(SYS_gettid);
	if (read(go_pipe[0], &c, 1) != 1)
		target_bad("no start");
	getrusage(RUSAGE_THREAD, &before);
	fault_minor();
	fault_major();
	for (int i = 0; i < SLEEPS; i++)
		target_sleep_us(200);
	for (int i = 0; i < 3; i++) {
		burn_user();
		burn_system();
	}
	getrusage(RUSAGE_THREAD, &after);
	worked = 1;
	if (read(go_pipe[0], &c, 1) != 1) /* nobody writes: leaving the processor here is its last switch */
		target_bad("no end");
	return NULL;
}

static uint64_t us(struct timeval a, struct timeval b)
{
	return (uint64_t)((b.tv_sec - a.tv_sec) * 1000000 + b.tv_usec - a.tv_usec);
}

int main(int argc, char **argv)
{
	pthread_t t;
	static char page[PAGE];
	target_start();
	const char *path = argc > 1 ? argv[1] : "account.data";
	ms = target_arg(argc, argv, 2, 100);
	file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	for (int i = 0; i < FILE_PAGES; i++)
		if (file < 0 || write(file, page, PAGE) != PAGE)
			target_bad("%s: %s", path, strerror(errno));
	fsync(file);
	if (pipe(go_pipe) != 0)
		target_bad("pipe: %s", strerror(errno));
	pthread_create(&t, NULL, worker, NULL);
	while (!worker_tid)
		target_sleep_us(1000);
	target_count("tid", (uint64_t)worker_tid);
	target_wait_go();
	if (write(go_pipe[1], "g", 1) != 1)
		target_bad("pipe: %s", strerror(errno));
	while (!worked)
		target_poll(20);
	target_count("minor", (uint64_t)(after.ru_minflt - before.ru_minflt));
	target_count("major", (uint64_t)(after.ru_majflt - before.ru_majflt));
	target_count("voluntary", (uint64_t)(after.ru_nvcsw - before.ru_nvcsw));
	target_count("forced", (uint64_t)(after.ru_nivcsw - before.ru_nivcsw));
	target_count("user_us", us(before.ru_utime, after.ru_utime));
	target_count("system_us", us(before.ru_stime, after.ru_stime));
	puts("DONE");
	target_wait_stop();
	unlink(path);
	return target_finish(target_mix(12, 12));
}
