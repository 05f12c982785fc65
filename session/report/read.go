package report

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// maxReport bounds what Read reads, in bytes: a report of a long session has some megabytes.
const maxReport = 256 << 20

// Parse reads a report from JSON. It is an error if it is none, or one of another schema.
func Parse(b []byte) (*Report, error) {
	var r Report
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, err
	}
	if r.Schema != Schema {
		return nil, fmt.Errorf("its schema is %d, expected %d", r.Schema, Schema)
	}
	return &r, nil
}

// Read reads a report that Save or Encode wrote. It is an error if the file is no report, or one of another schema.
func Read(path string) (*Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r Report
	if err := json.NewDecoder(io.LimitReader(f, maxReport)).Decode(&r); err != nil {
		return nil, fmt.Errorf("%s is no report that attach or run has written with --json: %w", path, err)
	}
	if r.Schema != Schema {
		return nil, fmt.Errorf("%s is no report that attach or run has written with --json: its schema is %d, expected %d", path, r.Schema, Schema)
	}
	return &r, nil
}
