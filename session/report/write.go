package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Encode writes the report as indented JSON with a final newline. Lists that are empty are written as [], never as null.
func (r *Report) Encode(w io.Writer) error { return r.encode(w, " ") }

// Line is the report as JSON on one line, without the newline.
func (r *Report) Line() ([]byte, error) {
	var b bytes.Buffer
	err := r.encode(&b, "")
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func (r *Report) encode(w io.Writer, indent string) error {
	c := r.normal()
	buf := bufio.NewWriter(w)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(c); err != nil {
		return err
	}
	return buf.Flush()
}

// normal is a copy without nil lists.
func (r *Report) normal() *Report {
	c := *r
	c.Schema = Schema
	c.Targets = orEmpty(c.Targets)
	c.Bottlenecks = orEmpty(append([]Bottleneck(nil), c.Bottlenecks...))
	c.Pairs = orEmpty(append([]Pair(nil), c.Pairs...))
	c.Nodes = orEmpty(append([]Node(nil), c.Nodes...))
	c.Probes.Refused = orEmpty(c.Probes.Refused)
	for i := range c.Nodes {
		c.Nodes[i].Parents = orEmpty(c.Nodes[i].Parents)
		c.Nodes[i].Focus = orRoot(c.Nodes[i].Focus)
	}
	c.Notes = append([]Bottleneck(nil), c.Notes...)
	lists := [][]Bottleneck{c.Bottlenecks, c.Notes}
	c.Phases = append([]PhaseAnswer(nil), c.Phases...)
	for i := range c.Phases {
		p := &c.Phases[i]
		p.Bottlenecks, p.Notes = orEmpty(append([]Bottleneck(nil), p.Bottlenecks...)), append([]Bottleneck(nil), p.Notes...)
		lists = append(lists, p.Bottlenecks, p.Notes)
	}
	for _, list := range lists {
		for i := range list {
			list[i].Chain = orEmpty(list[i].Chain)
		}
	}
	c.Jobs = append([]Job(nil), c.Jobs...)
	for i, j := range c.Jobs {
		c.Jobs[i].Ranks, c.Jobs[i].Waiting, c.Jobs[i].Awaited = orEmpty(j.Ranks), orEmpty(j.Waiting), orEmpty(j.Awaited)
	}
	if c.Idle != nil {
		c.Idle = &Idle{Share: c.Idle.Share, Places: orEmpty(c.Idle.Places)}
	}
	for i := range c.Pairs {
		c.Pairs[i].Focus = orRoot(c.Pairs[i].Focus)
		c.Pairs[i].Distribution = c.Pairs[i].Distribution.normal()
	}
	return &c
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func orRoot(f Focus) Focus {
	if f == nil {
		return Focus{}
	}
	return f
}

// Save writes the report to path as SaveAs does.
func (r *Report) Save(path string) error { return SaveAs(path, r.Encode) }

// SaveAs writes what encode writes to path by way of a temporary file in the same directory and a rename, so that an old report
// is there in full until the new one is. A path that exists and is no regular file (a pipe, /dev/null) is written
// directly. The error says what could not be written.
func SaveAs(path string, encode func(io.Writer) error) error {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return fmt.Errorf("the report cannot be written: %s is a directory; name a file", path)
	}
	if err == nil && !info.Mode().IsRegular() {
		return saveError(path, writeTo(path, encode))
	}
	return saveError(path, replace(path, info, encode))
}

// CheckWritable says before a session whether a report could be created at path, so that nobody measures in vain.
// It leaves nothing behind.
func CheckWritable(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return fmt.Errorf("the report cannot be written: %s is a directory; name a file", path)
	}
	if err == nil && !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".culprit-*")
	if err != nil {
		return saveError(path, err)
	}
	f.Close()
	return os.Remove(f.Name())
}

// readerWait is how long a pipe may have no reader, or one that does not read.
const readerWait = 5 * time.Second

// writeTo writes to what is there already. A pipe that nobody reads is an error after readerWait.
func writeTo(path string, encode func(io.Writer) error) error {
	f, err := openPatiently(path)
	if err != nil {
		return err
	}
	err = encode(patient{f})
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("its reader has read nothing for %v", readerWait)
	}
	return errors.Join(err, f.Close())
}

// openPatiently waits for the reader of a named pipe.
func openPatiently(path string) (*os.File, error) {
	for deadline := time.Now().Add(readerWait); ; time.Sleep(20 * time.Millisecond) {
		f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if !errors.Is(err, syscall.ENXIO) {
			return f, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("it is a pipe that nobody has opened for reading within %v", readerWait)
		}
	}
}

// patient is a file whose every write is given up after readerWait, where the file can be waited for at all.
type patient struct{ *os.File }

func (p patient) Write(b []byte) (int, error) {
	_ = p.SetWriteDeadline(time.Now().Add(readerWait)) // not of devices that never block
	return p.File.Write(b)
}

func replace(path string, old fs.FileInfo, encode func(io.Writer) error) error {
	// A link stays a link: what it points to is replaced.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".culprit-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails after the rename, as it should
	mode := fs.FileMode(0o644)
	if old != nil {
		mode = old.Mode().Perm()
	}
	err = errors.Join(encode(f), f.Chmod(mode), f.Sync())
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func saveError(path string, err error) error {
	if err == nil {
		return nil
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("the report cannot be written to %s: %w (an older report there is untouched)", path, err)
}
