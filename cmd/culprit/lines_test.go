package main

import (
	"bufio"
	"os"
	"strings"
	"testing"
	"time"
)

// TestLinesNeverWait: who warns goes on though nobody reads standard error, and what is read later is in order, with what was left out.
func TestLinesNeverWait(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	old := os.Stderr
	os.Stderr = w
	var l lines
	began := time.Now()
	for range 3 * maxWaiting {
		l.add(strings.Repeat("x", 64))
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("adding lines took %v", took)
	}
	read := make(chan int)
	go func() {
		n, last := 0, ""
		for s := bufio.NewScanner(r); s.Scan(); n++ {
			last = s.Text()
		}
		if !strings.Contains(last, "lines were left out") {
			t.Errorf("the last line is %q", last)
		}
		read <- n
	}()
	l.flush()
	os.Stderr = old
	w.Close()
	if n := <-read; n < maxWaiting || n >= 3*maxWaiting {
		t.Errorf("%d lines were written", n)
	}
}
