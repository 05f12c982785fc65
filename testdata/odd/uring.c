/* A program whose process has tasks of the kernel among its threads: those of io_uring.
 * uring [work|sqpoll]: reads that wait in workers of the kernel, or a thread of the kernel that looks for what is submitted. */
#include "target.h"
#include <liburing.h>
#include <pthread.h>

enum { READERS = 4 };

NOINLINE uint64_t work(uint64_t seed)
{
	uint64_t h = seed;
	__asm__ volatile("" : "+r"(h)); /* so that it is called each time */
	for (int i = 0; i < 3000; i++)
		h = target_mix(h, (uint64_t)i);
	return h;
}

static struct io_uring ring;
static int ends[2];
static char byte[READERS];

static void submit_read(int i)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
	if (!sqe)
		target_bad("the ring is full");
	io_uring_prep_read(sqe, ends[0], &byte[i], 1, 0);
	io_uring_sqe_set_flags(sqe, IOSQE_ASYNC);
	io_uring_sqe_set_data64(sqe, (uint64_t)i);
	if (io_uring_submit(&ring) < 0)
		target_bad("submit");
}

/* pass writes a byte, takes the read that got it, and asks for the next. */
static void pass(unsigned char value)
{
	struct io_uring_cqe *cqe;
	int error;
	if (write(ends[1], &value, 1) != 1)
		target_bad("write: %s", strerror(errno));
	while ((error = io_uring_wait_cqe(&ring, &cqe)) == -EINTR)
		;
	if (error != 0 || cqe->res != 1)
		target_bad("a read gave %d, %d", error, error ? 0 : cqe->res);
	int i = (int)cqe->user_data;
	io_uring_cqe_seen(&ring, cqe);
	if ((unsigned char)byte[i] != value)
		target_bad("read %d instead of %d", byte[i], value);
	submit_read(i);
}

int main(int argc, char **argv)
{
	struct io_uring_params params = {0};
	target_start();
	if (argc > 1 && strcmp(argv[1], "sqpoll") == 0) {
		params.flags = IORING_SETUP_SQPOLL;
		params.sq_thread_idle = 60000;
	}
	if (pipe(ends) != 0 || io_uring_queue_init_params(32, &ring, &params) != 0)
		target_bad("no io_uring: %s", strerror(errno));
	for (int i = 0; i < READERS; i++)
		submit_read(i);
	uint64_t hash = work(1);
	for (unsigned n = 0; target_running(); n++) {
		if (work(1) != hash)
			target_bad("hash differs");
		if (n % 8 == 0)
			pass((unsigned char)n);
		target_sleep_us(100);
	}
	return target_finish(hash);
}
