/* userfaultfd: a thread of the program serves the faults of the others. Who reads a page that is not there yet waits for that thread,
 * whoever it is: also a debugger, and then for ever if the thread stands still. One worker's stack lies in such memory too; with the argument late
 * it becomes such memory on the line "register", and is the only one at work. */
#include "target.h"
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGE 4096u
#define PAGES 64u
#define STACK (256u << 10)

static int uffd;
static char *heap, *stack;
static uint64_t served, hashes[2], rounds[2];

static void serve(int fd, uint64_t page)
{
	static char copy[PAGE] __attribute__((aligned(4096)));
	uint64_t *word = (uint64_t *)copy;
	int of_heap = page >= (uint64_t)heap && page < (uint64_t)heap + PAGES * PAGE;
	for (size_t i = 0; i < PAGE / 8; i++)
		word[i] = of_heap ? (page - (uint64_t)heap) + i : 0;
	struct uffdio_copy c = {.dst = page, .src = (uint64_t)copy, .len = PAGE};
	if (ioctl(fd, UFFDIO_COPY, &c) != 0 && errno != EEXIST)
		target_bad("UFFDIO_COPY: %s", strerror(errno));
	served++;
}

static void *server(void *arg)
{
	(void)arg;
	for (;;) {
		struct uffd_msg m;
		ssize_t n = read(uffd, &m, sizeof m);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n != (ssize_t)sizeof m || m.event != UFFD_EVENT_PAGEFAULT)
			target_bad("userfaultfd: %zd, %s", n, strerror(errno));
		serve(uffd, m.arg.pagefault.address & ~(uint64_t)(PAGE - 1));
	}
	return NULL;
}

static void fill(char *m, size_t size)
{
	struct uffdio_register r = {.range = {(uint64_t)m, size}, .mode = UFFDIO_REGISTER_MODE_MISSING};
	if (ioctl(uffd, UFFDIO_REGISTER, &r) != 0)
		target_bad("UFFDIO_REGISTER: %s", strerror(errno));
}

static char *memory(size_t size)
{
	char *m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m == MAP_FAILED)
		target_bad("mmap: %s", strerror(errno));
	return m;
}

static void command(const char *line)
{
	if (strcmp(line, "register") == 0)
		fill(stack, STACK);
}

NOINLINE uint64_t read_page(const uint64_t *page, uint64_t h)
{
	for (size_t i = 0; i < PAGE / 8; i += 16)
		h = target_mix(h, page[i]);
	return h;
}

NOINLINE uint64_t read_heap(void)
{
	uint64_t h = 0;
	for (size_t i = 0; i < PAGES; i++)
		h = read_page((uint64_t *)(heap + i * PAGE), h);
	return h;
}

NOINLINE uint64_t use_stack(int n, uint64_t h)
{
	volatile uint64_t room[256];
	room[0] = h;
	room[255] = h + 1;
	if (n > 0)
		h = use_stack(n - 1, target_mix(h, (uint64_t)n));
	return target_mix(h, room[255] - room[0]);
}

static void keep(int i, uint64_t h)
{
	if (hashes[i] && h != hashes[i])
		target_bad("worker %d: another result", i);
	hashes[i] = h;
	rounds[i]++;
}

static void *reader(void *arg)
{
	(void)arg;
	while (!target_stopping) {
		keep(0, read_heap());
		if (madvise(heap, PAGES * PAGE, MADV_DONTNEED) != 0)
			target_bad("madvise: %s", strerror(errno));
	}
	return NULL;
}

static void *stacked(void *arg)
{
	(void)arg;
	while (!target_stopping) {
		keep(1, use_stack(60, 5));
		madvise(stack, STACK - (48u << 10), MADV_DONTNEED); /* what lies below is not used now */
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct uffdio_api api = {.api = UFFD_API};
	pthread_t s, r, d;
	pthread_attr_t attr;
	int late = argc > 1 && strcmp(argv[1], "late") == 0;
	target_start();
	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api) != 0)
		target_bad("userfaultfd: %s", strerror(errno));
	heap = memory(PAGES * PAGE);
	stack = memory(STACK);
	fill(heap, PAGES * PAGE);
	if (late)
		target_command = command;
	else
		fill(stack, STACK);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, STACK);
	if (pthread_create(&s, NULL, server, NULL) != 0 || pthread_create(&d, &attr, stacked, NULL) != 0)
		target_bad("pthread_create");
	if (!late && pthread_create(&r, NULL, reader, NULL) != 0)
		target_bad("pthread_create");
	target_wait_stop();
	if (!late)
		pthread_join(r, NULL);
	pthread_join(d, NULL);
	target_count("served", served);
	if (served == 0 || (!late && rounds[0] == 0) || rounds[1] == 0)
		target_bad("nothing was done");
	return target_finish(target_mix(hashes[0], hashes[1]));
}
