package process

import (
	"testing"
	"time"

	"culprit/daemon/process/raw"
	"culprit/daemon/syscalls"
	"culprit/internal/require"
)

// bulkSource: a thread hands 1 MiB after the other to a pipe, in one blocking call each; another takes it slowly. A call that moves less is
// "short". "caught" counts how often a handler of SIGWINCH or SIGURG ran; "blocked" whether one of them is left for a thread that blocks them.
const bulkSource = `
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
enum { PIECE = 1 << 20 };
static char piece[PIECE], got[1 << 16];
static int ends[2];
static volatile long calls, shorts, signals;
static volatile int over, slow;
static void on_signal(int sig) { signals++; }
static void *hands(void *arg)
{
	sigset_t left;
	while (!over) {
		ssize_t n = write(ends[1], piece, PIECE);
		calls++;
		shorts += n != PIECE;
	}
	sigpending(&left);
	signals += sigismember(&left, SIGWINCH) + sigismember(&left, SIGURG);
	close(ends[1]);
	return NULL;
}
static void *takes(void *arg)
{
	struct timespec pause = {0, slow ? 20000000 : 100000};
	while (read(ends[0], got, sizeof got) > 0)
		nanosleep(&pause, NULL);
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t a, b;
	const char *mode = argc > 1 ? argv[1] : "";
	sigset_t both;
	char c;
	sigemptyset(&both), sigaddset(&both, SIGWINCH), sigaddset(&both, SIGURG);
	if (!strcmp(mode, "caught"))
		signal(SIGWINCH, on_signal), signal(SIGURG, on_signal);
	slow = !strcmp(mode, "slow") || !strcmp(mode, "alone");
	if (!strcmp(mode, "blocked"))
		pthread_sigmask(SIG_BLOCK, &both, NULL);
	if (pipe(ends) != 0)
		return 1;
	pthread_create(&a, NULL, hands, NULL);
	pthread_create(&b, NULL, takes, NULL);
	puts("ready"), fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	over = 1;
	pthread_join(a, NULL), pthread_join(b, NULL);
	printf("calls %ld\nshorts %ld\nsignals %ld\n", calls, shorts, signals);
	return 0;
}
`

// knowingTransfers is what the kernel knows of them.
func knowingTransfers(t *testing.T) *syscalls.Transfers {
	t.Helper()
	require.Root(t)
	know, err := syscalls.OpenTransfers(syscalls.NewTypes())
	if err != nil {
		require.Skip(t, err.Error())
	}
	t.Cleanup(func() { know.Close() })
	return know
}

// stopOften stops a target again and again and gives how many calls were cut, as the stops tell.
func stopOften(t *testing.T, p *Process) (cuts int) {
	for range 30 {
		cuts += stop(t, p, nothing).Cuts
		time.Sleep(30 * time.Millisecond)
	}
	return cuts
}

// TestTransfersEnd: a thread that always is in a call which a stop would cut is stopped where one is over. Where the kernel does not tell, or the
// program has a use for the signals, the calls are cut, and all that are cut are told.
func TestTransfersEnd(t *testing.T) {
	know := knowingTransfers(t)
	for _, c := range []struct {
		mode  string
		knows bool
		cut   bool
	}{{"", true, false}, {"slow", true, false}, {"", false, true}, {"caught", true, true}, {"blocked", true, true}} {
		name := c.mode
		if !c.knows {
			name = "nobody tells"
		}
		t.Run(name, func(t *testing.T) {
			right := func() bool {
				tg := start(t, compile(t, bulkSource), c.mode)
				p := open(t, tg.pid())
				if c.knows {
					p.KnowTransfers(know)
				}
				told := stopOften(t, p)
				res := tg.finish()
				t.Logf("%v, told: %d", res, told)
				if res["signals"] != 0 {
					t.Errorf("the program met %d signals", res["signals"])
				}
				if int(res["shorts"]) != told {
					t.Errorf("%d of %d cut calls were told", told, res["shorts"])
				}
				return c.cut && res["shorts"] >= 20 || !c.cut && res["shorts"] <= 1 // of 30 stops
			}
			for range 3 { // on a loud machine a piece may take longer than a stop waits
				if right() {
					return
				}
			}
			t.Error("calls were cut, or were not, three times")
		})
	}
}

// TestKilledAtTransfersEnd: the signal at which a thread stops does nothing where nobody is left to take it away.
func TestKilledAtTransfersEnd(t *testing.T) {
	knowingTransfers(t)
	tg := start(t, compile(t, bulkSource))
	for i := range 5 {
		killVictim(t, tg, raw.AtTransfersEnd, 1+i)
	}
	if res := tg.finish(); res["calls"] == 0 || res["shorts"] > 5 {
		t.Errorf("%v", res)
	}
}
