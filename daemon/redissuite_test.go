package daemon

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"culprit/internal/require"
)

// TestRedisSuite counts at every function of a server while it answers thousands of commands over all types of data and then
// every test of its own benchmark, and while its child saves the data: all answers are, byte for byte, those of a server that
// nobody looks at.
func TestRedisSuite(t *testing.T) {
	t.Parallel()
	require.Root(t)
	commands := redisScript(rounds(6000, 300_000))
	alone := runRedisSuite(t, commands, func(int) {})
	var w *watch
	watched := runRedisSuite(t, commands, func(pid int) { w = instrumentAll(t, pid, "redis-server", 0.99) })
	bad := 0
	for i, want := range alone.replies {
		if bytes.HasPrefix(want, []byte("-")) {
			bad++
		}
		if got := watched.replies[i]; !bytes.Equal(got, want) {
			t.Fatalf("reply %d, to %.300q: %.600q, undisturbed %.600q", i, alone.asked[i], got, want)
		}
	}
	t.Logf("%d replies of %d bytes are the same, %d of them errors; benchmark %v, undisturbed %v", len(alone.replies), alone.bytes(), bad,
		watched.took.Round(time.Millisecond), alone.took.Round(time.Millisecond))
	if bad*5 > len(alone.replies) {
		t.Errorf("%d of %d replies are errors: the commands do too little", bad, len(alone.replies))
	}
	if watched.left != alone.left {
		t.Errorf("the benchmark left %s, undisturbed %s", watched.left, alone.left)
	}
	if w.d.targets[0].Ended() {
		t.Fatal("the server has ended")
	}
	w.end(t, 1e6)
}

// redisRun is what a server answered.
type redisRun struct {
	asked   [][]string
	replies [][]byte
	left    string // what the benchmark left in the server
	took    time.Duration
}

func (r *redisRun) bytes() (n int) {
	for _, b := range r.replies {
		n += len(b)
	}
	return n
}

// runRedisSuite starts a server, does f to it, and has it do everything.
func runRedisSuite(t *testing.T, commands [][]string, f func(pid int)) *redisRun {
	t.Helper()
	p, socket := startRedis(t)
	f(p.PID)
	r := &redisRun{}
	c := dialRedis(t, socket)
	for _, protocol := range []string{"2", "3"} {
		c.ask([]string{"HELLO", protocol}) // its answer has the number of the connection
		for chunk := commands; len(chunk) > 0; {
			n := min(len(chunk), 200)
			r.say(c, chunk[:n]...)
			chunk = chunk[n:]
		}
		time.Sleep(20 * time.Millisecond) // what lives for a millisecond is gone
		r.say(c, []string{"EXISTS", "gone0", "gone1", "gone2", "gone3", "gone4", "gone5"}, []string{"DBSIZE"},
			[]string{"BLPOP", "nothing", "0.001"})
		c.save()
		checkRDB(t, filepath.Join(filepath.Dir(socket), "dump.rdb"))
		r.say(c, []string{"FLUSHALL"})
	}
	start := time.Now()
	redisBenchmark(t, socket, rounds(2000, 200_000))
	r.took = time.Since(start)
	r.left = c.left()
	if !p.Alive() {
		t.Errorf("the server has ended with %d: %q", p.Wait(t, time.Second), last(p.Lines(), 5))
	}
	return r
}

// say asks and keeps the answers.
func (r *redisRun) say(c *redisConn, commands ...[]string) {
	r.asked = append(r.asked, commands...)
	r.replies = append(r.replies, c.ask(commands...)...)
}

// redisBenchmark runs all tests of redis-benchmark; an error that the server answers with ends it.
func redisBenchmark(t *testing.T, socket string, n int) {
	t.Helper()
	out, err := exec.Command(require.Tool(t, "redis-benchmark"), "-s", socket, "-q", "-c", "20", "-n", strconv.Itoa(n)).CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("rror")) {
		t.Fatalf("redis-benchmark: %v\n%s", err, out)
	}
	if tests := bytes.Count(out, []byte("requests per second")); tests < 18 {
		t.Errorf("redis-benchmark ran %d tests:\n%s", tests, out)
	}
}

// A redisConn is a connection to a server.
type redisConn struct {
	t *testing.T
	c net.Conn
	r *bufio.Reader
}

func dialRedis(t *testing.T, socket string) *redisConn {
	t.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &redisConn{t, c, bufio.NewReader(c)}
}

// ask sends commands at once and returns the bytes of each reply.
func (c *redisConn) ask(commands ...[]string) (replies [][]byte) {
	c.t.Helper()
	var b bytes.Buffer
	for _, args := range commands {
		fmt.Fprintf(&b, "*%d\r\n", len(args))
		for _, a := range args {
			fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
		}
	}
	c.c.SetDeadline(time.Now().Add(time.Minute))
	sent := make(chan error, 1)
	go func() { _, err := c.c.Write(b.Bytes()); sent <- err }()
	for _, args := range commands {
		var reply bytes.Buffer
		if err := c.read(&reply); err != nil {
			c.t.Fatalf("the reply to %.200q: %v after %.200q", args, err, reply.Bytes())
		}
		replies = append(replies, reply.Bytes())
	}
	if err := <-sent; err != nil {
		c.t.Fatal(err)
	}
	return replies
}

// read copies one reply: https://redis.io/docs/latest/develop/reference/protocol-spec/.
func (c *redisConn) read(to *bytes.Buffer) error {
	line, err := c.r.ReadSlice('\n')
	if err != nil || len(line) < 3 {
		return fmt.Errorf("no reply (%q): %v", line, err)
	}
	to.Write(line)
	n, _ := strconv.Atoi(string(line[1 : len(line)-2]))
	switch line[0] {
	case '$', '=', '!':
		if n >= 0 {
			_, err = io.CopyN(to, c.r, int64(n)+2)
		}
		return err
	case '%':
		n *= 2
	case '*', '~', '>':
	default:
		return nil
	}
	for i := 0; i < n && err == nil; i++ {
		err = c.read(to)
	}
	return err
}

// save has a child of the server write everything to its file, and waits until that has worked.
func (c *redisConn) save() {
	c.t.Helper()
	if r := c.ask([]string{"BGSAVE"}); !bytes.HasPrefix(r[0], []byte("+")) {
		c.t.Fatalf("BGSAVE: %q", r[0])
	}
	for range 1000 {
		info := string(c.ask([]string{"INFO", "persistence"})[0])
		if strings.Contains(info, "rdb_bgsave_in_progress:0") {
			if !strings.Contains(info, "rdb_last_bgsave_status:ok") || strings.Contains(info, "rdb_last_save_time:0") {
				c.t.Errorf("saving has failed:\n%s", info)
			}
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.t.Error("the child that saves does not end")
}

// left is what the benchmark leaves: its counter and the lengths of what it has filled.
func (c *redisConn) left() string {
	c.t.Helper()
	var b bytes.Buffer
	for _, q := range []string{"DBSIZE", "GET counter:__rand_int__", "GET key:__rand_int__", "LLEN mylist", "SCARD myset", "ZCARD myzset", "HLEN myhash"} {
		b.Write(c.ask(strings.Fields(q))[0])
	}
	return strconv.Quote(b.String())
}

// checkRDB has redis read what it has saved.
func checkRDB(t *testing.T, file string) {
	t.Helper()
	if out, err := exec.Command(require.Tool(t, "redis-check-rdb"), file).CombinedOutput(); err != nil || !bytes.Contains(out, []byte("RDB looks OK")) {
		t.Errorf("%v\n%s", err, out)
	}
}
