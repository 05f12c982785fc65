/* Processes of MPI of which one has more to do than the others, who wait for it in each reduction. Each says how long it was in
 * reductions. mpirun gives the standard input to one of them only, so they are told what to do by files.
 * slowrank DIRECTORY [slow rank, or -1 for each in turn]: they work once DIRECTORY/go is there, and end once DIRECTORY/stop is. */
#include "target.h"
#include <mpi.h>
#include <sys/prctl.h>

enum { FAST_US = 2000, SLOW_US = 12000 };
static int rank, size;
static uint64_t reduce_ns, rounds;
static const char *dir;

static void say(const char *what, uint64_t n) { printf("COUNT %s%d %llu\n", what, rank, (unsigned long long)n); }

static int told(const char *name)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

/* solve computes for a while. */
NOINLINE uint64_t solve(uint64_t us)
{
	uint64_t h = us, end = target_now_ns() + us * 1000;
	while (target_now_ns() < end)
		h = target_mix(h, 3);
	return h;
}

/* reduce brings together what all have found, and whether they were told to stop: they all hear of that in the same round. */
NOINLINE int reduce(int stop)
{
	int all = 0;
	uint64_t t = target_now_ns();
	if (MPI_Allreduce(&stop, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) != MPI_SUCCESS)
		target_bad("MPI_Allreduce");
	reduce_ns += target_now_ns() - t;
	return all;
}

int main(int argc, char **argv)
{
	target_start();
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* mpirun that is killed would leave its ranks behind */
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc < 2)
		target_bad("slowrank: a directory");
	dir = argv[1];
	int slow = (int)target_arg(argc, argv, 2, 1);
	MPI_Barrier(MPI_COMM_WORLD); /* connections are made when they are first used */
	printf("RANK%d %d\n", rank, (int)getpid());
	fflush(stdout);
	while (!told("go"))
		target_sleep_us(2000);
	uint64_t began = target_now_ns();
	do {
		int mine = slow < 0 ? (int)(rounds % (uint64_t)size) : slow;
		if (rank == mine)
			solve(SLOW_US);
		else
			target_sleep_us(FAST_US);
		rounds++;
	} while (!reduce(rank == 0 && told("stop")));
	say("reduce_ns", reduce_ns);
	say("worked_ns", target_now_ns() - began);
	say("rounds", rounds);
	printf("END%d\n", rank);
	fflush(stdout); /* mpirun ends all when the first ends with a status that is not 0 */
	MPI_Finalize();
	return rank == 0 ? target_finish(15) : 0;
}
