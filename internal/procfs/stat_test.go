package procfs

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
)

func TestParseStat(t *testing.T) {
	for text, want := range map[string]Stat{
		"17 (a) S 1 (b)) R 42 17 17 0 -1 4194304 1 2 3 4 250 125 6 7 20 0 3 0 4711 99 98 18446744073709551615 1": {
			Name: []byte("a) S 1 (b)"), State: 'R', Parent: 42, Flags: 4194304, MinorFaults: 1, ChildFaults: 2, MajorFaults: 3, User: 250, System: 125, Children: 13, Threads: 3, Start: 4711},
		"7 (a) b\n) R) S -1 2 3 4 5 64 0 0 0 0 0 0 0 0 20 0 1 0 777 0 0": {Name: []byte("a) b\n) R"), State: 'S', Flags: 64, Threads: 1, Start: 777},
	} {
		if got, ok := ParseStat([]byte(text)); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v, want %+v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "17", "1 (x", "1 )x(", ")(", "1 (x)", "1 (x) \n", "1 (x) S", "1 (x) S ", "1 (x) S a b c d e f g h i j k l m n o p q r s t u"} {
		if got, ok := ParseStat([]byte(text)); ok {
			t.Errorf("%q was accepted: %+v", text, got)
		}
	}
}

// TestCutStat: a line that ends before its 22nd field is none.
func TestCutStat(t *testing.T) {
	whole := "17 (x) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22"
	for n := range len(whole) {
		if _, ok := ParseStat([]byte(whole[:n])); ok && n <= strings.Index(whole, " 20") {
			t.Errorf("%q was taken for whole", whole[:n])
		}
	}
}

func TestReadStat(t *testing.T) {
	s, err := ReadStat(os.Getpid())
	if err != nil || s.Parent != os.Getppid() || s.Threads < 1 || s.Start == 0 {
		t.Errorf("of this process: %+v, %v", s, err)
	}
	if th, err := ReadThreadStat(os.Getpid(), os.Getpid()); err != nil || th.Start != s.Start {
		t.Errorf("of its first thread: %+v, %v", th, err)
	}
	if _, err := ReadStat(1 << 30); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no process: %v", err)
	}
}
