/* A program without rights that tries everything it can against whoever measures it: its own descriptors, memory, names, files,
 * namespaces and limits change all the time, and it bears the marks of a culprit that never was.
 * attacker SEED DIR VICTIMS VICTIM-PID VICTIM-START UID KIND[,KIND...]
 * DIR is its own; VICTIMS has files of another user, of which it can have O_PATH descriptors only. As root it becomes UID first.
 * It says READY and works until it is killed, for half a minute at most. What it does follows from the seed. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define LIFETIME 30
#define PAGE 4096u
#define BAITS 10
#define BAIT_BASE 100

static uint64_t seed;
static char *dir, *victims, *kinds, **args;
static uint64_t victim_pid, victim_start;
static int baits[BAITS];

static uint64_t draw(uint64_t below)
{
	static _Thread_local uint64_t state;
	static uint64_t drawing; /* threads; the first is main, whose draws follow from the seed alone */
	if (state == 0)
		state = seed ^ (__atomic_add_fetch(&drawing, 1, __ATOMIC_RELAXED) * 0x9e3779b97f4a7c15u);
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return below ? state % below : state;
}

static void nap(long us)
{
	struct timespec ts = {us / 1000000, (us % 1000000) * 1000};
	nanosleep(&ts, NULL);
}

static int does(const char *kind)
{
	size_t n = strlen(kind);
	for (const char *at = kinds; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (strncmp(at, kind, n) == 0 && (at[n] == ',' || at[n] == 0))
			return 1;
	return 0;
}

/* mortal is called in each new process: none outlives its test. */
static void mortal(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGALRM, SIG_DFL);
	alarm(LIFETIME);
}

static const char *path(const char *in, const char *name)
{
	static _Thread_local char text[2][512];
	static _Thread_local int turn;
	turn = !turn;
	snprintf(text[turn], sizeof text[turn], "%s/%s", in, name);
	return text[turn];
}

/* ---- descriptors ---- */

static void open_baits(void)
{
	int n = 0, fd[BAITS];
	const char *files[] = {"small", "middle", "large"};
	mkfifo(path(dir, "fifo"), 0600);
	for (int i = 0; i < 3; i++)
		fd[n++] = open(path(victims, files[i]), O_PATH);
	fd[n++] = open(victims, O_PATH | O_DIRECTORY);
	fd[n++] = open(path(dir, "fifo"), O_RDWR | O_NONBLOCK);
	fd[n++] = open(path(dir, "own"), O_RDWR | O_CREAT, 0600);
	fd[n++] = open("/dev/null", O_RDWR);
	fd[n++] = open("/proc/self/mem", O_RDWR);
	fd[n++] = open("/dev/tty", O_PATH);
	fd[n++] = memfd_create("culprit", MFD_ALLOW_SEALING);
	for (int i = 0; i < n; i++) {
		baits[i] = fd[i] < 0 ? -1 : dup2(fd[i], BAIT_BASE + i);
		if (fd[i] >= 0)
			close(fd[i]);
	}
}

/* swap_descriptors runs in a process that shares nothing but the table of descriptors: nobody who stops our threads stops it. */
static int swap_descriptors(void *arg)
{
	uint64_t one = (uint64_t)(uintptr_t)arg;
	mortal();
	for (;;)
		for (int fd = 3; fd < 40; fd++)
			if (fcntl(fd, F_GETFD) >= 0) {
				int bait = baits[one < BAITS ? one : draw(BAITS)];
				if (bait >= 0)
					dup2(bait, fd);
			}
	return 0;
}

static void start_swapping(void)
{
	char *stack = malloc(64 << 10);
	uint64_t one = draw(2) ? draw(3) : draw(BAITS + 1);
	if (stack)
		clone(swap_descriptors, stack + (64 << 10), CLONE_FILES | SIGCHLD, (void *)(uintptr_t)one);
}

/* ---- memory of culprit ---- */

struct span {
	char *at;
	size_t size;
	int exec, write;
	char name[32]; /* of its memory file */
};

static int ours(struct span *spans, int most)
{
	char line[512];
	int n = 0;
	FILE *f = fopen("/proc/self/maps", "r");
	while (f && n < most && fgets(line, sizeof line, f)) {
		unsigned long a, b;
		char perms[8];
		if (!strstr(line, "memfd:culprit") && !strstr(line, "bpf-map"))
			continue;
		if (sscanf(line, "%lx-%lx %7s", &a, &b, perms) != 3)
			continue;
		spans[n] = (struct span){(char *)a, b - a, perms[2] == 'x', perms[1] == 'w', "culprit"};
		if (strstr(line, "memfd:"))
			sscanf(strstr(line, "memfd:") + 6, "%31s", spans[n].name);
		n++;
	}
	if (f)
		fclose(f);
	return n;
}

static void scribble(struct span s)
{
	for (int i = 0; i < 64; i++)
		*(volatile uint64_t *)(s.at + (draw(s.size / 8) & ~(uint64_t)7) % s.size) = draw(4) ? draw(0) : (uint64_t)-1;
	for (size_t i = 0; i < 512; i++)
		if (draw(8) == 0)
			((volatile uint64_t *)s.at)[i] ^= 1ull << draw(64);
}

static void hurt(struct span s)
{
	switch (draw(9)) {
	case 0:
		munmap(s.at, s.size);
		break;
	case 1:
		mremap(s.at, s.size, s.size / 2 > PAGE ? s.size / 2 & ~(size_t)(PAGE - 1) : PAGE, 0);
		break;
	case 2:
		madvise(s.at, s.size, draw(2) ? MADV_DONTNEED : MADV_REMOVE);
		break;
	case 3:
		mmap(s.at, s.size, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		break;
	case 4:
		mprotect(s.at, s.size, PROT_NONE);
		break;
	case 5:
		mprotect(s.at, PAGE, PROT_READ);
		break;
	default:
		if (s.write || mprotect(s.at, s.size, PROT_READ | PROT_WRITE | (s.exec ? PROT_EXEC : 0)) == 0)
			scribble(s);
	}
}

static void *hurt_memory(void *arg)
{
	struct span spans[64];
	(void)arg;
	for (;;) {
		int n = ours(spans, 64);
		if (n > 0)
			hurt(spans[draw((uint64_t)n)]);
		nap((long)draw(3000));
	}
	return NULL;
}

/* ---- heads and ledgers ---- */

static uint64_t odd_number(void)
{
	switch (draw(6)) {
	case 0:
		return 0;
	case 1:
		return draw(0);
	case 2:
		return 1ull << draw(64);
	case 3:
		return (1ull << draw(64)) - 1;
	default:
		return draw(1 << 17);
	}
}

static uint64_t odd_address(const void *mapped)
{
	switch (draw(5)) {
	case 0:
		return (uint64_t)(uintptr_t)&odd_number + draw(256);
	case 1:
		return (uint64_t)(uintptr_t)mapped + draw(1 << 20);
	case 2:
		return 0xffffffff80000000u + draw(1 << 20);
	case 3:
		return (uint64_t)(uintptr_t)&puts + draw(4096);
	default:
		return odd_number();
	}
}

/* fill_head writes the first page as version 1 has it: a true one but for who made it, or one of odd numbers. */
static void fill_head(char *mem)
{
	uint64_t *w = (uint64_t *)(mem + 8);
	int odd = draw(2) != 0;
	memcpy(mem, "culprit", 7);
	mem[7] = (char)(odd ? draw(6) : 1);
	w[0] = victim_pid;
	w[1] = draw(2) ? victim_start : odd_number();
	w[2] = (uint64_t)getpid();
	w[3] = (uint64_t)(uintptr_t)mem;
	w[5] = 2048;
	w[6] = 1 << 15;
	w[7] = draw(2) ? 1u << 24 : 1u << (10 + draw(15));
	w[8] = 256 << 20;
	if (!odd)
		return;
	for (int i = 0; i < 10; i++)
		w[i] = draw(3) ? w[i] : odd_number();
	w[9] = draw(2) ? draw(33) : w[9];
	for (int i = 10; i < 106; i++)
		w[i] = draw(2) ? odd_address(mem) : odd_number();
	for (int i = 120; i < 125; i++)
		w[i] = draw(2) ? odd_number() : draw(50);
}

static uint32_t checksum(const unsigned char *b, size_t n)
{
	uint32_t c = ~0u;
	for (size_t i = 0; i < n; i++) {
		c ^= b[i];
		for (int k = 0; k < 8; k++)
			c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
	}
	return ~c;
}

/* fill_ledger makes entries of 64 bytes as version 1 has them: address, length, old bytes at 16, new bytes at 32, checksum at 56, state
 * at 60. Most are sound. */
static void fill_ledger(char *mem, size_t size)
{
	uint64_t address = odd_address(mem);
	for (size_t at = 0; at + 64 <= size; at += 64) {
		uint64_t *w = (uint64_t *)(mem + at);
		w[0] = draw(3) ? address + at : odd_address(mem);
		w[1] = draw(16) ? 5 : draw(256);
		for (int i = 2; i < 6; i++)
			w[i] = draw(3) ? draw(0) : 0;
		w[7] = (draw(16) ? checksum((unsigned char *)w, 48) : draw(0)) | (1 + draw(2)) << 32;
	}
}

/* long_ledger maps the same piece of a ledger over and over behind the head: much to read for others, little to hold for us. */
static void long_ledger(int fd, char *mem, size_t size)
{
	enum { piece = 64 << 10 };
	for (size_t at = PAGE + piece; at + piece <= size && at < (1u << 30); at += piece)
		if (mmap(mem + at, piece, PROT_READ, MAP_FIXED | MAP_SHARED, fd, PAGE) == MAP_FAILED)
			return;
}

static void map_fake(const char *name, const char *copy, size_t copied)
{
	size_t size = PAGE + (draw(2) ? 1u << (16 + draw(8)) : 1u << 30), held = PAGE + (64 << 10);
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || ftruncate(fd, (off_t)size) != 0)
		return;
	char *mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (mem == MAP_FAILED)
		return;
	if (copy) {
		memcpy(mem, copy, copied < held ? copied : held);
		((uint64_t *)(mem + 8))[0] = draw(2) ? victim_pid : ((uint64_t *)(mem + 8))[0];
		((uint64_t *)(mem + 8))[1] = draw(2) ? victim_start : ((uint64_t *)(mem + 8))[1];
		for (uint64_t i = draw(4); i > 0; i--)
			mem[draw(held)] ^= (char)(1 << draw(8));
	} else {
		fill_head(mem);
		fill_ledger(mem + PAGE, held - PAGE);
	}
	if (size > (1u << 29) && draw(4))
		long_ledger(fd, mem, size);
	if (draw(4))
		mprotect(mem, size, PROT_READ);
	for (uint64_t i = draw(4); i > 0; i--)
		mmap(NULL, PAGE << draw(6), PROT_READ | PROT_EXEC, MAP_SHARED, fd, (off_t)(draw(16) * PAGE));
	if (draw(2))
		close(fd);
	else if (draw(4) == 0)
		ftruncate(fd, (off_t)(draw(3) * PAGE)); /* who reads the mapping now gets SIGBUS */
}

/* replay waits for a true head and maps changed copies of it, while it is there and after. */
static void *replay(void *arg)
{
	static char copy[PAGE + (64 << 10)];
	(void)arg;
	for (int made = 0; made < 8;) {
		struct span spans[64];
		int n = ours(spans, 64);
		for (int i = 0; i < n; i++)
			if (!spans[i].exec && !spans[i].write && memcmp(spans[i].at, "culprit", 7) == 0) {
				memcpy(copy, spans[i].at, spans[i].size < sizeof copy ? spans[i].size : sizeof copy);
				map_fake(spans[i].name, copy, sizeof copy);
				made++;
			}
		nap((long)draw(50000));
	}
	return NULL;
}

/* ---- names, files, namespaces, limits ---- */

static const char *hostile[] = {"\033[2J\033]0;x\007", "\xe2\x80\xae\xe2\x81\xa6txt", "\xff\xfe\n\rOK", "(a) b) S 1 1", "\033P$q\"p\033\\", "memfd:culprit"};

static void *change_names(void *arg)
{
	size_t room = strlen(args[0]);
	(void)arg;
	for (;;) {
		const char *name = hostile[draw(sizeof hostile / sizeof *hostile)];
		prctl(PR_SET_NAME, name);
		strncpy(args[0], name, room);
		nap((long)draw(2000));
	}
	return NULL;
}

/* change_files puts other things where our executable and our library are. */
static void *change_files(void *arg)
{
	const char *mine[] = {"prog", "lib.so"};
	(void)arg;
	for (;;) {
		const char *over = mine[draw(2)];
		unlink(path(dir, "next"));
		switch (draw(6)) {
		case 0:
			symlink(path(victims, "small"), path(dir, "next"));
			break;
		case 1:
			mkfifo(path(dir, "next"), 0600);
			break;
		case 2:
			symlink("/dev/zero", path(dir, "next"));
			break;
		case 3:
			symlink("next", path(dir, "next"));
			break;
		default:
			link(path(dir, "spare"), path(dir, "next"));
		}
		rename(path(dir, "next"), path(dir, over));
		nap((long)draw(20000));
	}
	return NULL;
}

static void write_text(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY);
	if (fd >= 0) {
		if (write(fd, text, strlen(text)) < 0)
			nap(0);
		close(fd);
	}
}

static void enter_namespaces(void)
{
	char map[64];
	snprintf(map, sizeof map, "0 %u 1", (unsigned)getuid());
	int flags = CLONE_NEWUSER | CLONE_NEWNS | (draw(2) ? CLONE_NEWNET | CLONE_NEWUTS : 0) | (draw(2) ? CLONE_NEWPID : 0);
	if (unshare(flags) != 0)
		return;
	write_text("/proc/self/setgroups", "deny");
	write_text("/proc/self/uid_map", map);
	write_text("/proc/self/gid_map", map);
	if (draw(2))
		mount(path(dir, "spare"), path(dir, "prog"), NULL, MS_BIND, NULL);
	if (draw(3) == 0)
		mount("none", draw(2) ? "/tmp" : "/usr", "tmpfs", 0, NULL);
	if (draw(3) == 0)
		mount(dir, "/proc", NULL, MS_BIND, NULL);
	if (draw(4) == 0 && chroot(dir) == 0)
		dir = strdup("/");
}

static void limit(int what, rlim_t to)
{
	struct rlimit r = {to, to};
	setrlimit(what, &r);
}

static void set_limits(void)
{
	struct rusage now;
	getrusage(RUSAGE_SELF, &now);
	switch (draw(5)) {
	case 0:
		limit(RLIMIT_AS, (rlim_t)(64 + draw(400)) << 20);
		break;
	case 1:
		limit(RLIMIT_NOFILE, 3 + draw(6));
		break;
	case 2:
		limit(RLIMIT_FSIZE, draw(2) * PAGE);
		break;
	case 3:
		limit(RLIMIT_STACK, 64 << 10);
		break;
	default:
		limit(RLIMIT_MEMLOCK, 0);
	}
}

static void filter_calls(void)
{
	static const int calls[] = {SYS_memfd_create, SYS_mmap, SYS_munmap, SYS_close, SYS_madvise, SYS_restart_syscall, SYS_rt_sigreturn, SYS_mprotect};
	uint32_t call = (uint32_t)calls[draw(sizeof calls / sizeof *calls)];
	uint32_t then = draw(2) ? SECCOMP_RET_ERRNO | ENOSYS : SECCOMP_RET_KILL_PROCESS;
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, then),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {sizeof f / sizeof *f, f};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
}

static void *stop_and_go(void *arg)
{
	pid_t parent = getpid();
	(void)arg;
	if (fork() != 0)
		return NULL;
	mortal();
	for (;;) {
		kill(parent, SIGSTOP);
		nap((long)draw(100000));
		kill(parent, SIGCONT);
		nap((long)draw(100000));
	}
}

static void *beget(void *arg)
{
	(void)arg;
	for (;;) {
		pid_t pid = draw(2) ? fork() : vfork();
		if (pid == 0) {
			if (draw(4) == 0)
				execl("/bin/true", hostile[0], NULL);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		nap((long)draw(5000));
	}
	return NULL;
}

static void *die_or_exec(void *arg)
{
	nap((long)draw(900000));
	if (!arg)
		_exit((int)draw(256));
	execv(path(dir, draw(2) ? "spare" : "prog"), args);
	_exit(127);
}

static void map_library(void)
{
	struct stat st;
	int fd = open(path(dir, "lib.so"), O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0 || st.st_size == 0)
		return;
	mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
}

/* ---- work ---- */

NOINLINE uint64_t attacker_leaf(uint64_t h) { return (h ^ 0x5bd1e995) * 0x9e3779b97f4a7c15u; }

NOINLINE uint64_t attacker_loop(uint64_t h)
{
	for (int i = 0; i < 200; i++)
		h = attacker_leaf(h + (uint64_t)i);
	return h;
}

NOINLINE uint64_t attacker_work(void)
{
	uint64_t h = 1;
	for (int i = 0; i < 100; i++)
		h = attacker_loop(h);
	nap(200);
	return h;
}

static void become(unsigned uid)
{
	if (geteuid() != 0)
		return;
	if (setgroups(0, NULL) != 0 || setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0)
		_exit(3);
	prctl(PR_SET_DUMPABLE, 1);
}

/* serve is a program of rights that lets servants without them work for it, as sshd and many others do: each forked, each without rights
 * before it does anything. They share with it whatever is shared memory. It has to live, and its work to come out as always. */
static void serve(unsigned uid)
{
	uint64_t want = attacker_work();
	alarm(4 * LIFETIME);
	printf("READY %d\n", (int)getpid());
	fflush(stdout);
	for (;;) {
		pid_t pid = fork();
		if (pid == 0) {
			struct span spans[64];
			become(uid);
			mortal();
			int n = ours(spans, 64);
			for (uint64_t i = draw(40); i > 0 && n > 0; i--)
				hurt(spans[draw((uint64_t)n)]);
			_exit(0);
		}
		for (int i = 0; i < 10; i++)
			if (attacker_work() != want)
				_exit(9);
		if (pid > 0)
			waitpid(pid, NULL, 0);
		draw(2); /* so that the next child draws otherwise */
	}
}

static void begin(const char *kind, void *(*body)(void *), void *arg)
{
	pthread_t t;
	if (does(kind))
		pthread_create(&t, NULL, body, arg);
}

int main(int argc, char **argv)
{
	if (argc < 8)
		return 2;
	args = argv;
	seed = strtoull(argv[1], NULL, 10) * 2 + 1;
	dir = argv[2];
	victims = argv[3];
	victim_pid = strtoull(argv[4], NULL, 10);
	victim_start = strtoull(argv[5], NULL, 10);
	kinds = argv[7];
	if (does("servants"))
		serve((unsigned)atoi(argv[6]));
	become((unsigned)atoi(argv[6]));
	mortal();
	map_library();
	open_baits();
	if (does("namespaces"))
		enter_namespaces();
	if (does("fakes"))
		for (uint64_t n = 1 + draw(3); n > 0; n--)
			map_fake("culprit", NULL, 0);
	if (does("locked"))
		mlockall(MCL_FUTURE);
	if (does("dumpable"))
		prctl(draw(2) ? PR_SET_DUMPABLE : PR_SET_PTRACER, draw(2), 0, 0, 0);
	printf("READY %d\n", (int)getpid());
	fflush(stdout);
	begin("memory", hurt_memory, NULL);
	begin("names", change_names, NULL);
	begin("files", change_files, NULL);
	begin("replay", replay, NULL);
	begin("stops", stop_and_go, NULL);
	begin("children", beget, NULL);
	begin("dies", die_or_exec, NULL);
	begin("executes", die_or_exec, args);
	if (does("descriptors"))
		start_swapping();
	if (does("child") && fork() == 0) {
		mortal();
		hurt_memory(NULL);
	}
	if (does("limits"))
		set_limits();
	if (does("filter"))
		filter_calls();
	for (volatile uint64_t h = 0;;)
		h = h + attacker_work();
}
