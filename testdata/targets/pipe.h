/* Two threads at the ends of a pipe: a reader, and a writer that is slow on purpose. */
#include <pthread.h>

static int ends[2];
static long pause_us = 5000; /* between two messages */
static volatile int on = 1;  /* the writer goes on; when it ends it closes its end */
static uint64_t sent, received;

/* pipe_run runs both until the program is told to stop. argv[1] is the pause. */
static inline void pipe_run(int argc, char **argv, void *(*reader)(void *), void *(*writer)(void *))
{
	pthread_t r, w;
	sigset_t term;
	target_start();
	pause_us = target_arg(argc, argv, 1, pause_us);
	if (pipe(ends) != 0)
		target_bad("pipe: %s", strerror(errno));
	sigemptyset(&term); /* the reader's read must not see SIGTERM */
	sigaddset(&term, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &term, NULL);
	pthread_create(&r, NULL, reader, NULL);
	pthread_create(&w, NULL, writer, NULL);
	pthread_sigmask(SIG_UNBLOCK, &term, NULL);
	target_wait_stop();
	on = 0;
	pthread_join(w, NULL);
	pthread_join(r, NULL);
}
