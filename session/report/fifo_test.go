package report

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestFifo: a report goes into a named pipe whose reader comes a little later, and a pipe without one is an error, as is one that is not read.
func TestFifo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	write := func(w io.Writer) error { _, err := w.Write(make([]byte, 1<<20)); return err }
	began := time.Now()
	if err := SaveAs(path, write); err == nil || !strings.Contains(err.Error(), "nobody has opened") || time.Since(began) > 2*readerWait {
		t.Errorf("without a reader: %v after %v", err, time.Since(began))
	}
	got := make(chan int)
	go func() {
		time.Sleep(100 * time.Millisecond)
		b, _ := os.ReadFile(path)
		got <- len(b)
	}()
	if err := SaveAs(path, write); err != nil {
		t.Error(err)
	}
	if n := <-got; n != 1<<20 {
		t.Errorf("%d bytes were read", n)
	}
	idle, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	if err := SaveAs(path, write); err == nil || !strings.Contains(err.Error(), "has read nothing") {
		t.Errorf("with a reader that does not read: %v", err)
	}
}

// TestReadFromPipe: a report comes through a pipe that somebody writes to, and one to which nobody writes is an error at once.
func TestReadFromPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := Read(path)
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "nobody writes to this pipe") {
			t.Errorf("without a writer: %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("a pipe without a writer is waited for")
	}
	w, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer w.Close()
		for _, part := range []string{`{"schema":1,`, `"nodes":[]}`} { // slowly
			time.Sleep(50 * time.Millisecond)
			_, _ = w.WriteString(part)
		}
	}()
	if r, err := Read(path); err != nil || r.Schema != 1 {
		t.Errorf("with a writer: %v", err)
	}
}
