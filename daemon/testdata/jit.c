/* Compiles at run time: small functions are written into fresh memory, called, thrown away and written anew at the same place.
 * They call functions of the program, whose callers' frames nobody can unwind. COUNT callee is exact. */
#include "target.h"
#include <pthread.h>
#include <sys/mman.h>

enum { THREADS = 2, SIZE = 4096 };
static uint64_t calls[THREADS], compiled[THREADS];
static volatile int on = 1;
static __thread uint64_t calls_here;

NOINLINE uint64_t callee(uint64_t x)
{
	calls_here++;
	return target_mix(x, 17);
}

/* compile writes: push rbx; mov rdi,rbx; mov $add,rax; add rax,rdi; mov $callee,rax; call *rax; xor rbx,rax; pop rbx; ret. */
NOINLINE size_t compile(uint8_t *at, uint64_t add)
{
	static const uint8_t head[] = {0x53, 0x48, 0x89, 0xfb, 0x48, 0xb8}, middle[] = {0x48, 0x01, 0xc7, 0x48, 0xb8},
			     tail[] = {0xff, 0xd0, 0x48, 0x31, 0xd8, 0x5b, 0xc3};
	uint64_t (*f)(uint64_t) = callee;
	uint8_t *p = at;
	memcpy(p, head, sizeof head), p += sizeof head;
	memcpy(p, &add, 8), p += 8;
	memcpy(p, middle, sizeof middle), p += sizeof middle;
	memcpy(p, &f, 8), p += 8;
	memcpy(p, tail, sizeof tail), p += sizeof tail;
	return (size_t)(p - at);
}

NOINLINE uint64_t run(uint8_t *code, uint64_t add, uint64_t x)
{
	uint64_t want = target_mix(x + add, 17) ^ x, got = ((uint64_t(*)(uint64_t))code)(x);
	if (got != want)
		target_bad("%llx instead of %llx", (unsigned long long)got, (unsigned long long)want);
	return got;
}

static void *compiler(void *arg)
{
	int me = (int)(intptr_t)arg;
	while (!target_going && on)
		target_sleep_us(1000);
	for (uint64_t n = 1; on; n++) {
		uint8_t *code = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (code == MAP_FAILED)
			target_bad("mmap: %s", strerror(errno));
		for (uint64_t version = 0; version < 4; version++) {
			uint64_t add = target_mix(n, version);
			if (mprotect(code, SIZE, PROT_READ | PROT_WRITE) != 0)
				target_bad("mprotect");
			compile(code, add);
			if (mprotect(code, SIZE, PROT_READ | PROT_EXEC) != 0)
				target_bad("mprotect");
			for (uint64_t x = 0; x < 50; x++)
				run(code, add, x);
			compiled[me]++;
		}
		munmap(code, SIZE);
	}
	calls[me] = calls_here;
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];
	target_start();
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, compiler, (void *)(intptr_t)i) != 0)
			target_bad("pthread_create");
	target_wait_stop();
	on = 0;
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	target_count("callee", calls[0] + calls[1]);
	target_count("compiled", compiled[0] + compiled[1]);
	printf("DONE\n");
	target_stopping = 0;
	if (target_stdin_open)
		target_wait_stop();
	return target_finish(target_mix(1, 2));
}
