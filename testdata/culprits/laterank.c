// Cause: four processes exchange the borders of a grid over sockets after each step, as MPI programs do; rank-2 has eight times
// the cells of the others in relax_cells(), and the others wait for it in exchange_borders().
// Right: CPUbound at relax_cells() and process rank-2
// Right: ExcessiveIOBlockingTime|ExcessiveSyncWaitingTime at exchange_borders() and process rank-2
// Processes: tree
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 4, COLUMNS = 512, ROWS = 100, LATE = 2, LATE_FACTOR = 8 };

struct border {
	double cell[COLUMNS];
};

static double grid[2][ROWS * LATE_FACTOR + 2][COLUMNS];

__attribute__((noinline)) void relax_cells(int from, int rows)
{
	for (int round = 0; round < 4; round++, from = !from)
		for (int r = 1; r <= rows; r++)
			for (int c = 1; c < COLUMNS - 1; c++)
				grid[!from][r][c] =
					0.25 * (grid[from][r - 1][c] + grid[from][r + 1][c] + grid[from][r][c - 1] + grid[from][r][c + 1]);
}

static void send_border(int fd, const double *row)
{
	if (send(fd, row, sizeof(struct border), MSG_NOSIGNAL) != sizeof(struct border))
		_exit(0);
}

static void receive_border(int fd, double *row)
{
	if (recv(fd, row, sizeof(struct border), MSG_WAITALL) != sizeof(struct border))
		_exit(0);
}

__attribute__((noinline)) void exchange_borders(int above, int below, int rows)
{
	send_border(above, grid[0][1]);
	send_border(below, grid[0][rows]);
	receive_border(above, grid[0][0]);
	receive_border(below, grid[0][rows + 1]);
}

static void run_rank(int rank, int above, int below)
{
	char name[16];
	snprintf(name, sizeof name, "rank-%d", rank);
	prctl(PR_SET_NAME, name);
	int rows = rank == LATE ? ROWS * LATE_FACTOR : ROWS;
	for (int c = 0; c < COLUMNS; c++)
		grid[0][0][c] = rank + 1;
	for (;;) {
		relax_cells(0, rows);
		exchange_borders(above, below, rows);
	}
}

int main(void)
{
	int link[RANKS][2]; /* link[i] is between rank i and the one below it */
	for (int i = 0; i < RANKS; i++)
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, link[i])) {
			perror("socketpair");
			return 1;
		}
	for (int i = 0; i < RANKS; i++) {
		pid_t child = fork();
		if (child < 0) {
			perror("fork");
			return 1;
		}
		if (child == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			run_rank(i, link[(i + RANKS - 1) % RANKS][1], link[i][0]);
		}
	}
	puts("ready");
	fflush(stdout);
	while (wait(NULL) > 0)
		;
	return 0;
}
