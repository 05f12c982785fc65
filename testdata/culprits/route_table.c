// Cause: the reloader holds routes_lock for writing during the whole slow reload, so all lookups wait for it.
// Right: ExcessiveSyncWaitingTime at lock routes_lock
// Right: ExcessiveSyncWaitingTime at find_route()
// Right: ExcessiveSyncWaitingTime at reload_routes()
// Never: handle_packets()

// Packet handlers look up routes under a reader/writer lock. A reloader
// rebuilds the table row by row, with the lock taken for writing.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define ROUTES 64
#define HANDLERS 4

struct route {
	uint32_t net, mask, gateway;
};

static struct route routes[ROUTES];
static pthread_rwlock_t routes_lock = PTHREAD_RWLOCK_INITIALIZER;
static volatile uint32_t sink;

// The rows come from a slow controller, one at a time.
__attribute__((noinline)) static struct route ask_controller(int row)
{
	usleep(1500);
	struct route r = {(uint32_t)row << 24, 0xff000000u, (uint32_t)row * 7};
	return r;
}

__attribute__((noinline)) static void reload_routes(void)
{
	pthread_rwlock_wrlock(&routes_lock);
	for (int i = 0; i < ROUTES; i++)
		routes[i] = ask_controller(i);
	pthread_rwlock_unlock(&routes_lock);
}

__attribute__((noinline)) static uint32_t find_route(uint32_t addr)
{
	uint32_t gw = 0;
	pthread_rwlock_rdlock(&routes_lock);
	for (int i = 0; i < ROUTES; i++) {
		if ((addr & routes[i].mask) == routes[i].net) {
			gw = routes[i].gateway;
			break;
		}
	}
	pthread_rwlock_unlock(&routes_lock);
	return gw;
}

static void *reloader(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "reloader");
	for (;;) {
		reload_routes();
		usleep(10000);
	}
	return NULL;
}

__attribute__((noinline)) static void *handle_packets(void *arg)
{
	uint32_t addr = (uint32_t)(uintptr_t)arg;
	pthread_setname_np(pthread_self(), "handler");
	for (;;) {
		for (int i = 0; i < 20; i++) {
			addr = addr * 1664525u + 1013904223u;
			sink += find_route(addr & 0x3fffffffu);
		}
		usleep(500); // the next burst of packets
	}
	return NULL;
}

int main(void)
{
	pthread_t t;
	for (uintptr_t i = 0; i < HANDLERS; i++)
		if (pthread_create(&t, NULL, handle_packets, (void *)(i + 1)) != 0)
			return 1;
	if (pthread_create(&t, NULL, reloader, NULL) != 0)
		return 1;
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
