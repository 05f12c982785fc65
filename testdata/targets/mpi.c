/* Two processes of MPI send and receive, take part in collective operations, and write into each other's memory; each counts
 * operations and bytes and says how long its calls took. mpirun gives the standard input to one of them only, so they are told
 * what to do by files.
 * mpi DIRECTORY [rounds]: they work once DIRECTORY/go is there, and end once DIRECTORY/stop is. */
#include "target.h"
#include <mpi.h>
#include <sys/prctl.h>

enum { LARGEST = 500, TAG = 7, OTHER_TAG = 9 };
static int rank, other;
static double out[LARGEST], in[LARGEST], window[LARGEST];
static MPI_Win win;
static uint64_t p2p_ns, recv_ns, coll_ns, rma_ns;
static uint64_t sent, sent_tagged, received, coll_ops, rma_ops, sent_bytes, tagged_bytes, recv_bytes, coll_bytes, rma_bytes;

/* timed runs a call of MPI and adds what it took. */
#define timed(sum, call)                                \
	do {                                            \
		uint64_t timed_t = target_now_ns();     \
		if ((call) != MPI_SUCCESS)              \
			target_bad("%s", #call);        \
		sum += target_now_ns() - timed_t;       \
	} while (0)

/* send_dirty is MPI_Send as some compilers would call it: what is above an int in its register means nothing. */
static int (*volatile send_dirty)(const void *, long, MPI_Datatype, int, int, MPI_Comm);

static void sends(int n, size_t size)
{
	sent++;
	sent_bytes += (uint64_t)n * size;
}

/* receives counts the room that is given, which is what came in all calls here but one. */
static void receives(int n, size_t size)
{
	received++;
	recv_bytes += (uint64_t)n * size;
}

NOINLINE void pass(int n)
{
	if (rank == 0) {
		target_sleep_us(2000); /* the other waits */
		sends(n, sizeof *out);
		sent_tagged++;
		tagged_bytes += (uint64_t)n * sizeof *out;
		timed(p2p_ns, send_dirty(out, n | 0x7ff00000000, MPI_DOUBLE, other, TAG, MPI_COMM_WORLD));
		return;
	}
	uint64_t t = target_now_ns();
	receives(LARGEST, sizeof *in);
	timed(p2p_ns, MPI_Recv(in, LARGEST, MPI_DOUBLE, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	recv_ns += target_now_ns() - t;
	for (int i = 0; i < n; i++)
		if (in[i] != out[i])
			target_bad("what came is not what was sent");
}

NOINLINE void exchange(int n)
{
	MPI_Request r[2];
	sends(n, sizeof(int));
	receives(n, sizeof(int));
	timed(p2p_ns, MPI_Irecv(in, n, MPI_INT, other, OTHER_TAG, MPI_COMM_WORLD, &r[0]));
	timed(p2p_ns, MPI_Isend(out, n, MPI_INT, other, OTHER_TAG, MPI_COMM_WORLD, &r[1]));
	timed(p2p_ns, MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
	sends(n, 1);
	received++; /* how much is the eighth argument */
	timed(p2p_ns, MPI_Sendrecv(out, n, MPI_BYTE, other, OTHER_TAG, in, n, MPI_BYTE, other, OTHER_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void together(int n, size_t size)
{
	coll_ops++;
	coll_bytes += (uint64_t)n * size;
}

/* late lets the other wait, so that most of the time is waiting and not the clock's own. */
static void late(void)
{
	if (rank == 0)
		target_sleep_us(700);
}

NOINLINE void collect(int n)
{
	late();
	together(0, 0);
	timed(coll_ns, MPI_Barrier(MPI_COMM_WORLD));
	together(n, sizeof *in);
	timed(coll_ns, MPI_Bcast(in, n, MPI_DOUBLE, 0, MPI_COMM_WORLD));
	together(n, sizeof *out);
	timed(coll_ns, MPI_Allreduce(out, in, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
	together(n / 2, sizeof *out);
	timed(coll_ns, MPI_Allgather(out, n / 2, MPI_DOUBLE, in, n / 2, MPI_DOUBLE, MPI_COMM_WORLD));
}

NOINLINE void reach(int n)
{
	late();
	timed(rma_ns, MPI_Win_fence(0, win));
	rma_ops++;
	rma_bytes += (uint64_t)n * sizeof *out;
	timed(rma_ns, MPI_Put(out, n, MPI_DOUBLE, other, 0, n, MPI_DOUBLE, win));
	timed(rma_ns, MPI_Win_fence(0, win));
	if (window[n - 1] != out[n - 1])
		target_bad("the window has not what was put");
}

static void say(const char *what, uint64_t n) { printf("COUNT %s%d %llu\n", what, rank, (unsigned long long)n); }

static void await(const char *dir, const char *name)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	while (access(path, F_OK) != 0)
		target_sleep_us(2000);
}

static void report(void)
{
	say("p2p_ns", p2p_ns);
	say("recv_ns", recv_ns);
	say("coll_ns", coll_ns);
	say("rma_ns", rma_ns);
	say("sent", sent);
	say("sent_tagged", sent_tagged);
	say("tagged_bytes", tagged_bytes);
	say("received", received);
	say("coll_ops", coll_ops);
	say("rma_ops", rma_ops);
	say("sent_bytes", sent_bytes);
	say("recv_bytes", recv_bytes);
	say("coll_bytes", coll_bytes);
	say("rma_bytes", rma_bytes);
	printf("DONE%d\n", rank);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int size;
	target_start();
	void *send = (void *)MPI_Send;
	memcpy((void *)&send_dirty, &send, sizeof send);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* mpirun that is killed would leave its ranks behind */
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size != 2 || argc < 2)
		target_bad("mpi: two processes and a directory");
	other = 1 - rank;
	for (int i = 0; i < LARGEST; i++)
		out[i] = i * 0.5;
	MPI_Win_create(window, sizeof window, sizeof *window, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Barrier(MPI_COMM_WORLD); /* connections are made when they are first used */
	printf("RANK%d %d\n", rank, (int)getpid());
	fflush(stdout);
	await(argv[1], "go");
	long rounds = target_arg(argc, argv, 2, 20);
	for (long i = 0; i < rounds; i++) {
		int n = 2 + (int)(i * 7 % (LARGEST - 2));
		pass(n);
		exchange(n);
		collect(n);
		reach(n);
	}
	report();
	await(argv[1], "stop");
	MPI_Win_free(&win);
	MPI_Finalize();
	printf("END%d\n", rank);
	return rank == 0 ? target_finish(target_mix(15, (uint64_t)rounds)) : 0;
}
