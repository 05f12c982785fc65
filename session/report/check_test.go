package report

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What no session can have written is refused with what is wrong.
func TestDamagedReports(t *testing.T) {
	const good = `{"schema":1,"started":"2026-01-02T03:04:05Z","nodes":[{"id":1,"hypothesis":"top","state":"true","parents":[]},{"id":2,"hypothesis":"h","parents":[1]}]}`
	if _, err := Parse([]byte(good)); err != nil {
		t.Fatalf("a good one: %v", err)
	}
	for _, c := range [][3]string{
		{`"id":2`, `"id":1`, "node 1 stands in the place of node 2"}, {`"id":2,`, ``, "stands in the place"}, {`"parents":[1]`, `"parents":[3]`, "below node 3, which is not there"},
		{`"parents":[1]`, `"parents":[2]`, "below themselves"}, {`"parents":[1]`, `"parents":[-1]`, "below node -1"}, {`"parents":[1]`, `"samples":-5,"parents":[1]`, "-5 readings"},
		{`"parents":[1]`, `"confidence":2,"parents":[1]`, "2 sure"}, {"2026-01-02T03:04:05Z", "yesterday", `"yesterday", which is no time`}, {`]}]}`, `]}]} garbage`, "follows after"},
		{`]}]}`, `]}]}` + good, "follows after"}, {`]}]}`, `]}]`, "ends too early"}, {`"nodes":[`, `"nodes":7,"x":[`, `"nodes" is a JSON number there`}, {`"schema":1`, `"schema":2`, "its schema is 2"},
		{`{"id":2,"hypothesis":"h","parents":[1]}`, `null`, "stands in the place"},
	} {
		text := strings.Replace(good, c[0], c[1], 1)
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s: %v, expected %q", text, err, c[2])
		}
	}
	if _, err := Parse(nil); err == nil {
		t.Error("nothing is a report")
	}
}

// A way of a thousand steps is none of a search; many nodes are looked through at once.
func TestManyNodes(t *testing.T) {
	var deep, wide strings.Builder
	for i := 2; i <= 100_000; i++ {
		fmt.Fprintf(&deep, `,{"id":%d,"hypothesis":"h","parents":[%d]}`, i, i-1)
		fmt.Fprintf(&wide, `,{"id":%d,"hypothesis":"h","parents":[1]}`, i)
	}
	const head, tail = `{"schema":1,"nodes":[{"id":1}`, `]}`
	began := time.Now()
	if _, err := Parse([]byte(head + deep.String() + tail)); err == nil || !strings.Contains(err.Error(), "steps below the root") {
		t.Errorf("deep: %v", err)
	}
	r, err := Parse([]byte(head + wide.String() + tail))
	if err != nil {
		t.Fatal(err)
	}
	for id := range r.Nodes {
		if r.NodeOf(id+1) != &r.Nodes[id] {
			t.Fatalf("node %d is not found", id+1)
		}
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("took %v: each node is looked for among all", took)
	}
}

// Texts of a file can do no more to a terminal than those of a target, and nothing is lost of what a session has written.
func TestTextsOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	text := `{"schema":1,"targets":[{"exe":"a\u001b[2J\nb"}],"nodes":[{"id":1,"hypothesis":"top\r\n","focus":{"Code":"/Code/\u202ea"}}],"settings":{"PC\n":1}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{r.Targets[0].Exe, r.Nodes[0].Hypothesis, r.Nodes[0].Focus["Code"], fmt.Sprint(r.Settings)} {
		if strings.ContainsAny(s, "\x1b\n\r\u202e") {
			t.Errorf("%q", s)
		}
	}
	if len(r.Settings) != 1 {
		t.Errorf("settings %v", r.Settings)
	}
}
