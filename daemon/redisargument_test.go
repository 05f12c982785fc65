package daemon

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"culprit/grid"
)

// commandStats are redis-server's own counts of calls by command.
func commandStats(t *testing.T, socket string) map[string]int {
	t.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprint(c, "INFO commandstats\r\n")
	r := bufio.NewReader(c)
	var size int
	if _, err := fmt.Fscanf(r, "$%d\r\n", &size); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		t.Fatal(err)
	}
	stats := map[string]int{}
	for line := range strings.SplitSeq(string(text), "\r\n") {
		var name string
		var calls int
		if _, err := fmt.Sscanf(strings.NewReplacer(":calls=", " ", ",", " ").Replace(line), "cmdstat_%s %d", &name, &calls); err == nil {
			stats[name] = calls
		}
	}
	return stats
}

// lookups is how often a name was looked up, also as that of a subcommand (CONFIG GET).
func lookups(stats map[string]int, name string) (n int) {
	for command, calls := range stats {
		if _, sub, _ := strings.Cut(command, "|"); command == strings.ToLower(name) || sub == strings.ToLower(name) {
			n += calls
		}
	}
	return n
}

// TestCommandsOfRedis counts commands of redis-server by their names, where it looks them up, as exactly as it does itself. Debian's
// has no DWARF: what is compared with a text is taken for a pointer to characters.
func TestCommandsOfRedis(t *testing.T) {
	t.Parallel()
	n := 10_000
	if *long {
		n = 1_000_000
	}
	p, socket := startRedis(t)
	names := []string{"GET", "SET", "INCR", "LPUSH"}
	var counts []argCount
	for _, name := range names {
		counts = append(counts, argCount{"dictFetchValue", fmt.Sprintf(`if ($arg[1] == "%s") m++`, name), ""})
	}
	d := attachWith(t, argMetrics(counts), p.PID)
	var s sums
	var keys []grid.PairKey
	for i := range names {
		keys = append(keys, key(t, fmt.Sprint("m", i), "/"))
	}
	before := commandStats(t, socket)
	d.mustEnable(t, &s, keys...)
	if out, err := exec.Command("redis-benchmark", "-s", socket, "-q", "-c", "20", "-n", fmt.Sprint(n), "-t", "get,set,incr").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	d.Disable(keys)
	after := commandStats(t, socket)
	for i, name := range names {
		own := lookups(after, name) - lookups(before, name)
		t.Logf("%s: %v, redis-server counts %d", name, s.of(keys[i]), own)
		if s.of(keys[i]) != float64(own) || (own < n) != (name == "LPUSH") {
			t.Errorf("%s: %v, redis-server counts %d", name, s.of(keys[i]), own)
		}
	}
	detachClean(t, d, p.PID)
}
