/* Memory becomes another lock: a mutex in one kind of object, then, at the same address, one in another kind, then a semaphore, and
 * a mutex in a page that goes away. Threads wait for each of them again and again. Lines: "next" goes on to the next of them.
 * reuse */
#include "target.h"
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>

struct first {
	long n;
	pthread_mutex_t lock;
	char room[64];
};
struct second {
	long n;
	pthread_mutex_t guard;
	char room[64];
};
struct third {
	long n;
	sem_t tickets;
	char room[72];
};

static volatile int stage, over;
static void *memory;
static uint64_t waits;

NOINLINE void nap(void) { target_sleep_us(3000); }

NOINLINE void use_first(struct first *f)
{
	pthread_mutex_lock(&f->lock);
	f->n++;
	nap();
	pthread_mutex_unlock(&f->lock);
	__asm__ volatile("" ::"r"(f) : "memory");
}

/* use_hidden keeps what it needs in registers that no function of the C library saves: only a stopped thread tells them. */
NOINLINE void use_hidden(struct first *f)
{
	register struct first *kept __asm__("r13") = f;
	register pthread_mutex_t *lock __asm__("r12") = &f->lock;
	__asm__ volatile("" : "+r"(kept), "+r"(lock));
	pthread_mutex_lock(lock);
	__asm__ volatile("" : "+r"(kept), "+r"(lock));
	kept->n++;
	nap();
	__asm__ volatile("" : "+r"(kept), "+r"(lock));
	pthread_mutex_unlock(lock);
	__asm__ volatile("" : "+r"(kept), "+r"(lock));
}

NOINLINE void use_second(struct second *s)
{
	pthread_mutex_lock(&s->guard);
	s->n++;
	nap();
	pthread_mutex_unlock(&s->guard);
	__asm__ volatile("" ::"r"(s) : "memory");
}

NOINLINE void use_third(struct third *t)
{
	sem_wait(&t->tickets);
	t->n++;
	nap();
	sem_post(&t->tickets);
	__asm__ volatile("" ::"r"(t) : "memory");
}

static void *worker(void *arg)
{
	while (!over) {
		switch (stage) {
		case 0: use_first((struct first *)memory); break;
		case 3: use_hidden((struct first *)memory); break;
		case 1: use_second((struct second *)memory); break;
		case 2: use_third((struct third *)memory); break;
		}
		__atomic_fetch_add(&waits, 1, __ATOMIC_SEQ_CST);
	}
	return arg;
}

static pthread_t threads[3];

static void begin(void)
{
	over = 0;
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
}

static void end(void)
{
	over = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

/* renew lets what is used go, and has the next take its place. */
static void renew(void)
{
	void *was = memory;
	end();
	switch (++stage) {
	case 1:
		free(memory);
		memory = malloc(sizeof(struct second));
		pthread_mutex_init(&((struct second *)memory)->guard, NULL);
		break;
	case 2:
		free(memory);
		memory = malloc(sizeof(struct third));
		sem_init(&((struct third *)memory)->tickets, 0, 1);
		break;
	case 3:
		free(memory);
		memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		pthread_mutex_init(&((struct first *)memory)->lock, NULL);
		break;
	case 4:
		munmap(memory, 4096);
		break;
	}
	if (stage < 3 && memory != was)
		target_bad("the memory was not used again");
	printf("STAGE %d %p\n", stage, memory);
	if (stage < 4)
		begin();
}

static void command(const char *line)
{
	if (strcmp(line, "next") == 0)
		renew();
}

int main(void)
{
	target_start();
	target_command = command;
	memory = calloc(1, sizeof(struct first));
	pthread_mutex_init(&((struct first *)memory)->lock, NULL);
	printf("STAGE 0 %p\n", memory);
	begin();
	target_wait_stop();
	if (stage < 4)
		end();
	target_count("waits", waits);
	return target_finish(18);
}
