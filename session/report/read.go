package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"syscall"
)

// maxReport bounds what Read reads, in bytes: a report of a long session has some megabytes.
const maxReport = 256 << 20

// Parse reads a report from JSON. It is an error if it is none, one of another schema, or damaged. Texts in it are fit for a terminal.
func Parse(b []byte) (*Report, error) { return decode(bytes.NewReader(b)) }

// Read reads a report that Save or Encode wrote. It is an error if the file is no report, one of another schema, or damaged. Texts in it are fit for a
// terminal.
func Read(path string) (*Report, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe to which nobody writes is waited for else
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := decode(f)
	if info, e := f.Stat(); e == nil && info.Mode()&os.ModeNamedPipe != 0 && errors.Is(err, errEnds) {
		err = fmt.Errorf("%w, or nobody writes to this pipe yet", err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is no report that attach or run has written with --json: %w", path, err)
	}
	return r, nil
}

var errEnds = errors.New("it ends too early")

func decode(from io.Reader) (*Report, error) {
	var r Report
	limited := &io.LimitedReader{R: from, N: maxReport}
	d := json.NewDecoder(limited)
	err := d.Decode(&r)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows after the report")
		}
	}
	var field *json.UnmarshalTypeError
	switch {
	case err != nil && limited.N <= 0:
		return nil, fmt.Errorf("it is larger than %d MB", maxReport>>20)
	case errors.As(err, &field):
		return nil, fmt.Errorf("%q is a JSON %s there", field.Field, field.Value)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errEnds
	case err != nil:
		return nil, err
	case r.Schema != Schema:
		return nil, fmt.Errorf("its schema is %d, expected %d", r.Schema, Schema)
	}
	clean(reflect.ValueOf(&r))
	if err := r.check(); err != nil {
		return nil, err
	}
	return &r, nil
}
