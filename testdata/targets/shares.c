/* A program that knows how its time divides, for estimates of it: one thread computes in three functions, 50, 30 and 20 % of its
 * processor time, in short slices of changing length; another waits for a mutex, a semaphore and a pipe, in three functions; a third
 * lets it wait. shares [ms that it works after "go"]; without "go" it works until it is told to stop. */
#include "target.h"
#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/un.h>

static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t ticket;
static int mail[2];
static volatile int over, passed, locked;
static uint64_t half_ns, third_ns, fifth_ns, mutex_ns, sem_ns, pipe_ns;
static volatile uint64_t result;

static uint64_t now_of(clockid_t clock)
{
	struct timespec ts;
	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

NOINLINE uint64_t burn(uint64_t turns)
{
	uint64_t h = turns;
	for (uint64_t i = 0; i < turns; i++)
		h = target_mix(h, i);
	return h;
}

NOINLINE void half(uint64_t turns)
{
	result += burn(turns * 5) + 1;
}

NOINLINE void third(uint64_t turns)
{
	result += burn(turns * 3) + 2;
}

NOINLINE void fifth(uint64_t turns)
{
	result += burn(turns * 2) + 3;
}

/* The threads are there before they work: what a thread does in its first moments nobody can see. */
static inline __attribute__((always_inline)) void wait_for_go(void)
{
	while (!target_going)
		target_sleep_us(5000);
}

NOINLINE void compute(uint32_t *state)
{
	static void (*const parts[])(uint64_t) = {half, third, fifth};
	static uint64_t *const sums[] = {&half_ns, &third_ns, &fifth_ns};
	uint64_t turns = 20000 + next_random(state) % 80000;
	for (int i = 0; i < 3; i++) {
		uint64_t before = now_of(CLOCK_THREAD_CPUTIME_ID);
		parts[i](turns);
		*sums[i] += now_of(CLOCK_THREAD_CPUTIME_ID) - before;
	}
}

static void *computer(void *arg)
{
	uint32_t state = 2463534242u;
	(void)arg;
	wait_for_go();
	while (!over)
		compute(&state);
	return NULL;
}

NOINLINE void wait_for_mutex(void)
{
	uint64_t before = now_of(CLOCK_MONOTONIC);
	pthread_mutex_lock(&gate_lock);
	mutex_ns += now_of(CLOCK_MONOTONIC) - before;
	pthread_mutex_unlock(&gate_lock);
	passed = 1;
}

NOINLINE void wait_for_ticket(void)
{
	uint64_t before = now_of(CLOCK_MONOTONIC);
	while (sem_wait(&ticket) != 0)
		;
	sem_ns += now_of(CLOCK_MONOTONIC) - before;
}

NOINLINE void wait_for_mail(void)
{
	char c;
	uint64_t before = now_of(CLOCK_MONOTONIC);
	while (read(mail[0], &c, 1) != 1)
		;
	pipe_ns += now_of(CLOCK_MONOTONIC) - before;
}

NOINLINE void visit(void)
{
	wait_for_mutex();
	wait_for_ticket();
	wait_for_mail();
}

static void *visitor(void *arg)
{
	(void)arg;
	wait_for_go();
	while (!over)
		visit();
	return NULL;
}

static int peer = -1; /* which never answers */

/* call_peer connects to a socket of the program's own. */
static void call_peer(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	peer = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "culprit-shares-%d", getpid()); /* abstract */
	if (bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, 1) || connect(peer, (struct sockaddr *)&at, sizeof at))
		target_bad("socket: %s", strerror(errno));
}

/* wait_us waits for an answer. A porter that slept would have nothing to do, and nobody waits for such a one. */
static void wait_us(long us)
{
	struct timespec limit = {us / 1000000, us % 1000000 * 1000};
	struct pollfd p = {.fd = peer, .events = POLLIN};
	ppoll(&p, 1, &limit, NULL);
}

/* The visitor always finds the gate locked. */
static void *porter(void *arg)
{
	uint32_t state = 88172645u;
	(void)arg;
	pthread_mutex_lock(&gate_lock);
	locked = 1;
	wait_for_go();
	while (!over) {
		wait_us(3000 + next_random(&state) % 4000);
		passed = 0;
		pthread_mutex_unlock(&gate_lock);
		while (!passed && !over)
			wait_us(50);
		pthread_mutex_lock(&gate_lock);
		wait_us(2000 + next_random(&state) % 2000);
		sem_post(&ticket);
		wait_us(1000 + next_random(&state) % 2000);
		if (write(mail[1], "m", 1) != 1)
			target_bad("pipe: %s", strerror(errno));
	}
	pthread_mutex_unlock(&gate_lock);
	sem_post(&ticket);
	if (write(mail[1], "m", 1) != 1)
		target_bad("pipe: %s", strerror(errno));
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[3];
	long ms = target_arg(argc, argv, 1, 600000);
	target_start();
	sem_init(&ticket, 0, 0);
	call_peer();
	if (pipe(mail) != 0)
		target_bad("pipe: %s", strerror(errno));
	pthread_create(&t[0], NULL, computer, NULL);
	pthread_create(&t[1], NULL, porter, NULL);
	while (!locked)
		target_sleep_us(1000);
	pthread_create(&t[2], NULL, visitor, NULL);
	target_wait_go();
	for (uint64_t end = target_now_ns() + (uint64_t)ms * 1000000u; target_now_ns() < end && !target_stopping;)
		target_poll(10);
	over = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	target_count("half", half_ns);
	target_count("third", third_ns);
	target_count("fifth", fifth_ns);
	target_count("mutex", mutex_ns);
	target_count("sem", sem_ns);
	target_count("pipe", pipe_ns);
	puts("DONE");
	target_wait_stop();
	return target_finish(target_mix(5, 3));
}
