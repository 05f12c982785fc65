package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"culprit/internal/servers"
)

// forever is longer than any search.
const forever = 10 * time.Minute

// serverSubjects are servers with planted causes, and some that do nothing. What is right is written as in the programs.
func serverSubjects() []subject {
	return []subject{
		served("postgres-hotrow", `// Cause: Eight sessions change one record; each keeps it locked while its client thinks for 5 ms, and the others wait for the record's lock.
// Right: ExcessiveSyncWaitingTime at XactLockTableWait()
// Right: ExcessiveSyncWaitingTime at LockAcquireExtended()
// Right: ExcessiveSyncWaitingTime at LockAcquire()
// Right: ExcessiveSyncWaitingTime at ProcSleep()
// Right: ExcessiveSyncWaitingTime at heap_update()`, postgresHotRow),
		served("postgres-noindex", `// Cause: Each query reads the whole table, since there is no index on the column of its condition.
// Right: CPUbound at heap_getnextslot()
// Right: CPUbound at ExecScan()
// Right: CPUbound at heapgetpage()
// Right: CPUbound at heap_getnext()
// Right: CPUbound at HeapTupleSatisfiesVisibility()
// Never: XLogFlush()`, postgresNoIndex),
		served("postgres-commits", `// Cause: Each small transaction waits until the log is on the disk, by itself or for the one that flushes.
// Right: ExcessiveIOBlockingTime at XLogFlush()
// Right: ExcessiveIOBlockingTime at issue_xlog_fsync()
// Right: ExcessiveIOBlockingTime at pg_fdatasync()
// Right: ExcessiveIOBlockingTime at file 0000*
// Right: ExcessiveSyncWaitingTime at XLogFlush()`, postgresCommits),
		served("postgres-idle", "// Cause: Nothing is wrong: nobody asks it for anything.\n// Right: none", postgresIdle),
		served("mariadb-hotrow", `// Cause: Eight sessions change one record; each keeps it locked for 5 ms, and the others wait for the record's lock.
// Right: ExcessiveSyncWaitingTime at mysql_update()
// Right: ExcessiveSyncWaitingTime at lock_wait()
// Right: ExcessiveSyncWaitingTime at row_search_mvcc()`, mariaHotRow),
		served("mariadb-noindex", `// Cause: Each query reads the whole table, since there is no index on the column of its condition.
// Right: CPUbound at rr_sequential()
// Right: CPUbound at sub_select()
// Right: CPUbound at row_search_mvcc()
// Right: CPUbound at JOIN::exec()`, mariaNoIndex),
		served("redis-keys", `// Cause: Clients ask for KEYS of a hundred thousand keys again and again.
// Right: CPUbound at keysCommand()`, redisKeys),
		served("redis-range", `// Cause: Clients ask for all of a list of twenty thousand elements again and again.
// Right: CPUbound at lrangeCommand()
// Right: CPUbound at addListListpackRangeReply()
// Right: CPUbound at addListQuicklistRangeReply()`, redisRange),
		served("memcached-large", `// Cause: Clients read values of half a megabyte; nearly all CPU time is copying in the kernel.
// Right: SystemTimeHigh|SystemCallTimeHigh at *`, memcachedLarge),
		served("nginx-tls", `// Cause: Each request makes a new TLS connection; the CPU time goes to the handshakes.
// Right: CPUbound at SSL_do_handshake()
// Right: CPUbound at module libcrypto.so*
// Right: CPUbound at module libssl.so*`, nginxTLS),
		served("sqlite-commits", `// Cause: The program commits each line by itself, and waits until it is on the disk each time.
// Right: ExcessiveIOBlockingTime at file shop.db
// Right: ExcessiveIOBlockingTime at file shop.db-journal
// Right: ExcessiveIOBlockingTime at module libsqlite3.so*`, sqliteCommits),
		served("node-cpu", `// Cause: A function of JavaScript computes without a pause.
// Right: CPUbound at *`, nodeCPU),
		served("node-requests", `// Cause: One thread answers all requests, and has no pause; the four others, for which it has work at times, wait for it.
// Right: CPUbound at *`, nodeRequests),
		served("node-idle", "// Cause: Nothing is wrong: nobody asks it for anything.\n// Right: none", nodeIdle),
		served("python-loop", `// Cause: A loop in Python computes without a pause: the time goes to the interpreter's loop.
// Right: CPUbound at _PyEval_EvalFrameDefault()`, pythonLoop),
		served("python-json", `// Cause: The program writes one large object as JSON again and again: the time goes to the encoder in C.
// Right: CPUbound at module _json.*
// Right: CPUbound at py_encode_basestring_ascii()`, pythonJSON),
		served("java-cpu", `// Cause: A method of Java computes without a pause.
// Right: CPUbound at *`, javaCPU),
		served("java-lock", `// Cause: Eight threads wait for one monitor, which each keeps for a millisecond.
// Right: ExcessiveSyncWaitingTime at *`, javaLock),
		served("java-idle", "// Cause: Nothing is wrong: its threads sleep.\n// Right: none", javaIdle),
		served("make", `// Cause: A C tree is compiled over and over: the time goes to the compiler proper, one short process for each file.
// Right: CPUbound|ShortLivedProcesses at process cc1
// Right: ShortLivedProcesses at *`, makeTree),
	}
}

func startPostgres(s *scene, statements string, settings ...string) (*servers.Postgres, error) {
	pg, err := servers.StartPostgres(s.dir, settings...)
	if err != nil {
		return nil, err
	}
	s.later(pg.Close)
	if statements != "" {
		_, err = pg.Run("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", statements, "postgres")
	}
	return pg, err
}

// postgres starts a server, has it work through statements, and loads it with clients that repeat a script.
func postgres(s *scene, statements string, clients int, script string, settings ...string) (pid int, err error) {
	pg, err := startPostgres(s, statements, settings...)
	if err != nil {
		return 0, err
	}
	file, err := s.file("script.sql", script)
	if err != nil {
		return 0, err
	}
	return pg.PID, s.load(pg.Command("pgbench", "-n", "-c", fmt.Sprint(clients), "-T", fmt.Sprint(forever.Seconds()), "-f", file, "postgres"), nil)
}

func postgresHotRow(s *scene) (int, error) {
	return postgres(s, "create table stock (id int primary key, n int); insert into stock values (1, 0)", 8,
		"begin;\nupdate stock set n = n + 1 where id = 1;\n\\sleep 5 ms\ncommit;\n", "fsync=off", "autovacuum=off")
}

func postgresNoIndex(s *scene) (int, error) {
	return postgres(s, "create table parcels as select i as id, i % 1000 as city, repeat('x', 20) as label from generate_series(1, 60000) i; analyze parcels", 2,
		"\\set id random(1, 60000)\nselect label from parcels where id = :id;\n", "fsync=off", "autovacuum=off", "max_parallel_workers_per_gather=0", "jit=off")
}

func postgresCommits(s *scene) (int, error) {
	return postgres(s, "create table events (id int, at timestamp)", 2, "insert into events values (1, now());\n", "fsync=on", "synchronous_commit=on", "autovacuum=off")
}

func postgresIdle(s *scene) (int, error) {
	pg, err := startPostgres(s, "")
	if err != nil {
		return 0, err
	}
	return pg.PID, nil
}

// maria starts a server with a table of ten thousand lines, and loads it with clients that repeat statements.
func maria(s *scene, clients int, statements ...string) (pid int, err error) {
	db, err := servers.StartMariaDB(s.dir)
	if err != nil {
		return 0, err
	}
	s.later(db.Close)
	if err := run(db.SysbenchCommand("oltp_read_only", "prepare", 1, time.Second)); err != nil {
		return 0, err
	}
	var lua strings.Builder
	lua.WriteString("sysbench.cmdline.options = {tables = {\"\", 1}, table_size = {\"\", 1}}\n" +
		"function thread_init() con = sysbench.sql.driver():connect() end\nfunction event()\n")
	for _, statement := range statements {
		fmt.Fprintf(&lua, "con:query(%q)\n", statement)
	}
	lua.WriteString("end\n")
	script, err := s.file("load.lua", lua.String())
	if err != nil {
		return 0, err
	}
	return db.PID, s.load(db.SysbenchCommand(script, "run", clients, forever))
}

func mariaHotRow(s *scene) (int, error) {
	return maria(s, 8, "begin", "update sbtest1 set pad = 'x' where id = 1", "do sleep(0.005)", "commit")
}

func mariaNoIndex(s *scene) (int, error) {
	return maria(s, 2, "select count(*) from sbtest1 where pad = 'nowhere'")
}

// redis starts a server, fills it by a script in Lua, and loads it with clients that repeat a command.
func redis(s *scene, fill string, command ...string) (pid int, err error) {
	r, err := servers.StartRedis(s.dir)
	if err != nil {
		return 0, err
	}
	s.later(r.Close)
	if err := run(r.Command("redis-cli", "eval", fill, "0")); err != nil {
		return 0, err
	}
	return r.PID, s.load(r.Command("redis-benchmark", append([]string{"-l", "-q", "-c", "4"}, command...)...))
}

func redisKeys(s *scene) (int, error) {
	return redis(s, "for i = 1, 100000 do redis.call('set', 'key:' .. i, i) end", "keys", "*:77*")
}

func redisRange(s *scene) (int, error) {
	return redis(s, "for i = 1, 20000 do redis.call('rpush', 'list', 'element ' .. i) end", "lrange", "list", "0", "-1")
}

// largeReads is a client that reads a value again and again.
const largeReads = `import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
size = 500000
f = s.makefile("rb", 0)
s.sendall(b"set large 0 0 %d\r\n" % size + b"x" * size + b"\r\n")
f.readline()
buf = memoryview(bytearray(1 << 20))
while True:
    s.sendall(b"get large\r\n")
    left = size + len(b"VALUE large 0 500000\r\n") + 2 + 5
    while left > 0:
        left -= s.recv_into(buf[:left])
`

func memcachedLarge(s *scene) (int, error) {
	m, err := servers.StartMemcached(s.dir, 2)
	if err != nil {
		return 0, err
	}
	s.later(m.Close)
	for range 2 {
		if err := s.load(command(python, "-c", largeReads, m.Socket)); err != nil {
			return 0, err
		}
	}
	return m.PID, nil
}

func nginxTLS(s *scene) (int, error) {
	key, cert := filepath.Join(s.dir, "key.pem"), filepath.Join(s.dir, "cert.pem")
	if err := run(command([]string{"openssl"}, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "30", "-keyout", key, "-out", cert)); err != nil {
		return 0, err
	}
	port, err := servers.FreePort()
	if err != nil {
		return 0, err
	}
	n, err := servers.StartNginx(s.dir, 1, fmt.Sprintf("listen 127.0.0.1:%d ssl; ssl_certificate %s; ssl_certificate_key %s; ssl_session_cache off;", port, cert, key),
		map[string]string{"small.txt": "hello\n"})
	if err != nil {
		return 0, err
	}
	s.later(n.Close)
	n.URL = fmt.Sprintf("https://127.0.0.1:%d", port)
	return n.PID, s.load(n.WrkCommand("/small.txt", "Connection: close", 4, forever))
}

func makeTree(s *scene) (int, error) {
	for i := range 24 {
		if _, err := s.file(fmt.Sprintf("part%d.c", i), cFile(i)); err != nil {
			return 0, err
		}
	}
	if _, err := s.file("Makefile", "OBJECTS := $(patsubst %.c,%.o,$(wildcard *.c))\nall: $(OBJECTS)\n%.o: %.c\n\tgcc -O2 -c -o $@ $<\n"); err != nil {
		return 0, err
	}
	return s.program(exec.Command("/bin/sh", "-c", "echo ready; while make -s -j2 -B; do :; done"), nil)
}

// cFile is a source that takes the compiler some tenths of a second.
func cFile(i int) string {
	var b strings.Builder
	b.WriteString("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n")
	for f := range 12 {
		fmt.Fprintf(&b, "int f%d_%d(const char *s, int n)\n{\n\tint t = 0;\n\tfor (int i = 0; i < n; i++)\n\t\tswitch (s[i] %% 7) {\n", i, f)
		for c := range 7 {
			fmt.Fprintf(&b, "\t\tcase %d: t += s[i] * %d; if (t > %d) t ^= (int)strlen(s); break;\n", c, f+c, i*c)
		}
		b.WriteString("\t\t}\n\treturn t;\n}\n")
	}
	return b.String()
}
