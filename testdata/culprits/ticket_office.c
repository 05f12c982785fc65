// Cause: The four selling processes wait for the semaphore of System V that guards the hall, which print_ticket keeps while it waits for a slow printer.
// Right: ExcessiveSyncWaitingTime at sell_ticket()
// Right: ExcessiveSyncWaitingTime at reserve_seat()
// Never: tally_sales()
// Processes: tree
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <time.h>
#include <unistd.h>

enum { SELLERS = 4, SEATS = 4096 };

static struct hall {
	uint32_t seats[SEATS];
	uint64_t sold;
} *hall;
static int guard;

static void change(int by)
{
	struct sembuf op = {0, (short)by, SEM_UNDO};
	while (semop(guard, &op, 1))
		if (errno != EINTR) exit(1);
}

__attribute__((noinline)) void print_ticket(uint32_t seat)
{
	struct timespec printer = {0, 400000};
	nanosleep(&printer, NULL);
	hall->seats[seat % SEATS]++;
}

__attribute__((noinline)) uint64_t tally_sales(uint32_t from)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < 2000; i++) sum += hall->seats[(from + i * 7) % SEATS] * (uint64_t)i;
	return sum;
}

__attribute__((noinline)) void reserve_seat(uint32_t seat)
{
	change(-1);
	print_ticket(seat);
	hall->sold++;
	change(1);
}

__attribute__((noinline)) uint64_t sell_ticket(uint32_t seat)
{
	reserve_seat(seat);
	return tally_sales(seat);
}

static void seller(uint32_t number)
{
	volatile uint64_t sum = 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (uint32_t i = number;; i += SELLERS) sum += sell_ticket(i);
}

int main(void)
{
	hall = mmap(NULL, sizeof *hall, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unshare(CLONE_NEWIPC); // the semaphore ends with the program
	guard = semget(IPC_PRIVATE, 1, 0600);
	if (hall == MAP_FAILED || guard < 0) return 1;
	change(1);
	for (uint32_t i = 1; i < SELLERS; i++)
		if (fork() == 0) seller(i);
	puts("ready");
	fflush(stdout);
	seller(0);
}
