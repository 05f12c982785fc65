/* Code that is made at run time: in memory that is mapped twice (writable here, executable there), in memory whose protection goes to
 * and fro, and over and over at the same address. Each piece is a small function that is called and whose result is known. */
#include "target.h"
#include <pthread.h>
#include <sys/mman.h>

#define PAGE 4096u
#define PIECES 32
#define THREADS 2

typedef uint64_t (*piece)(uint64_t);

static uint64_t made[THREADS];

/* emit writes f(x) = (x + k) * 2 + 1, with a frame so that it looks like compiled code. */
static void emit(unsigned char *at, uint32_t k)
{
	static const unsigned char head[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x81, 0xc7}; /* push rbp; mov rsp,rbp; add imm32,rdi */
	static const unsigned char tail[] = {0x48, 0x8d, 0x44, 0x3f, 0x01, 0x5d, 0xc3}; /* lea 1(rdi,rdi),rax; pop rbp; ret */
	memcpy(at, head, sizeof head);
	memcpy(at + sizeof head, &k, 4);
	memcpy(at + sizeof head + 4, tail, sizeof tail);
}

NOINLINE void run(unsigned char *code, uint32_t k)
{
	for (uint64_t x = 0; x < 50; x++) {
		piece f;
		*(void **)&f = code;
		uint64_t got = f(x);
		if (got != (x + k) * 2 + 1)
			target_bad("a piece gives %llu", (unsigned long long)got);
	}
}

NOINLINE void mapped_twice(uint32_t seed)
{
	int fd = memfd_create("jit", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, PAGE) != 0)
		target_bad("memfd: %s", strerror(errno));
	unsigned char *w = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), *x = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	if (w == MAP_FAILED || x == MAP_FAILED)
		target_bad("mmap: %s", strerror(errno));
	close(fd);
	for (uint32_t i = 0; i < PIECES; i++) {
		emit(w + 64 * i, seed + i);
		run(x + 64 * i, seed + i);
	}
	munmap(w, PAGE);
	munmap(x, PAGE);
}

NOINLINE void to_and_fro(unsigned char *page, uint32_t seed)
{
	if (mprotect(page, PAGE, PROT_READ | PROT_WRITE) != 0)
		target_bad("mprotect: %s", strerror(errno));
	for (uint32_t i = 0; i < PIECES; i++)
		emit(page + 64 * i, seed ^ i);
	if (mprotect(page, PAGE, PROT_READ | PROT_EXEC) != 0)
		target_bad("mprotect: %s", strerror(errno));
	for (uint32_t i = 0; i < PIECES; i++)
		run(page + 64 * i, seed ^ i);
}

static void *make(void *arg)
{
	long i = (long)(intptr_t)arg;
	unsigned char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		target_bad("mmap: %s", strerror(errno));
	while (!target_stopping) {
		mapped_twice((uint32_t)made[i]);
		to_and_fro(page, (uint32_t)made[i]);
		made[i]++;
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	target_start();
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, make, (void *)(intptr_t)i) != 0)
			target_bad("pthread_create");
	target_wait_stop();
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		if (made[i] == 0)
			target_bad("thread %d made nothing", i);
	}
	target_count("made", made[0] + made[1]);
	return target_finish(target_mix(4, 4));
}
