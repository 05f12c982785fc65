package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"culprit/grid"
)

func frame(t *testing.T, message any) []byte {
	t.Helper()
	b, err := Encode(message)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func focus(t *testing.T, text string) grid.Focus {
	t.Helper()
	f, err := grid.ParseFocus(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestMessages sends a command and a batch with something in every part, byte by byte.
func TestMessages(t *testing.T) {
	f := focus(t, "/Code/queue.c/pop,/IO/File//var/tmp/a b,/Process/x{42}/thr_1{main}")
	command := Command{Number: 7, Enable: &Pairs{[]Pair{PairOf(3, grid.PairKey{Metric: "cpu", Focus: f}), PairOf(4, grid.PairKey{Metric: "whole"})}}}
	var d grid.Distribution
	d.Counts[0], d.Counts[250], d.Sum, d.Step = 5, 1<<60, -3.5, 1e-9
	batch := Batch{Number: 9, Status: &Status{At: 1.5, Spare: math.Inf(1), Weighed: []Weighed{{FocusOf(f), Weights{0.5, 0, 1}}}},
		Targets: []grid.TargetInfo{{PID: 42, Rank: &grid.Rank{Job: "j", Number: 3}}}, Resources: []Resource{{Change: uint8(grid.ResourceLabel), Hierarchy: 2, Path: []string{"a", "/b,"}, Label: "ü"}},
		Values:  []Value{{ID: 3, Start: 1, End: 2, Held: &grid.Held{Mean: 1, Min: -1, Max: math.MaxFloat64, Last: 0.1}}, {ID: 4, Dist: DistributionOf(&d)}},
		Answers: []Answer{{Command: 7, Results: []Result{{Tier: "probe", Since: 0.25, Err: GridKinds().Encode(grid.ErrRefused{Point: "p", Reason: "r"})}}}}, Ended: true}
	r := NewReader(iotest.OneByteReader(bytes.NewReader(append(frame(t, &command), frame(t, &batch)...))))
	var gotCommand Command
	var gotBatch Batch
	if err := errors.Join(r.Read(&gotCommand), r.Read(&gotBatch)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(gotCommand, command) || !reflect.DeepEqual(gotBatch, batch) {
		t.Errorf("got %+v\nand %+v", gotCommand, gotBatch)
	}
	if key, err := gotCommand.Enable.Keys[0].Key(); err != nil || key.Focus != f || key.Metric != "cpu" {
		t.Errorf("key %v, %v", key, err)
	}
	if back, err := gotBatch.Values[1].Dist.Distribution(); err != nil || *back != d {
		t.Errorf("distribution %v, %v", back, err)
	}
	if err := r.Read(&gotBatch); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

// TestBadFrames holds that what is no message is an error, whatever it claims to be.
func TestBadFrames(t *testing.T) {
	whole := frame(t, &Command{Number: 1, Hello: &Hello{Version}})
	huge := binary.BigEndian.AppendUint32(nil, MaxFrame+1)
	nested := append(binary.BigEndian.AppendUint32(nil, 1000), bytes.Repeat([]byte{0x81}, 1000)...)
	for _, c := range []struct {
		name string
		in   []byte
		want string
	}{
		{"cut in the length", whole[:3], io.ErrUnexpectedEOF.Error()},
		{"cut in the body", whole[:len(whole)-1], io.ErrUnexpectedEOF.Error()},
		{"a length and no more", huge[:4], "not a message: 16777217 bytes"},
		{"text", append([]byte{0, 0, 0, 5}, "hello"...), "not a message"},
		{"nested without end", nested, "not a message"},
		{"an array that is said to be huge", []byte{0, 0, 0, 9, 0x9b, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff}, "not a message"},
	} {
		var got Command
		if err := NewReader(bytes.NewReader(c.in)).Read(&got); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for _, f := range []Focus{{{99, []string{"x"}}}, {{0, nil}}, {{0, []string{"a"}}, {0, []string{"b"}}}} {
		if got, err := f.Focus(); !errors.As(err, &ErrFrame{}) {
			t.Errorf("%v is %v, %v", f, got, err)
		}
	}
	for _, d := range []Distribution{{Buckets: []uint8{1}}, {Buckets: []uint8{255}, Counts: []uint64{1}}} {
		if _, err := d.Distribution(); !errors.As(err, &ErrFrame{}) {
			t.Errorf("%v: %v", d, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	b, _ := Encode(&Command{Number: 1, Attach: &Attach{PIDs: []int{1}, Library: []Text{{"a", "b"}}}})
	f.Add(b)
	b, _ = Encode(&Batch{Number: 1, Values: []Value{{ID: 1, Value: math.NaN()}}})
	f.Add(b)
	f.Fuzz(func(t *testing.T, in []byte) {
		var c Command
		if NewReader(bytes.NewReader(in)).Read(&c) == nil {
			if _, err := Encode(&c); err != nil {
				t.Error(err)
			}
		}
		var batch Batch
		_ = NewReader(bytes.NewReader(in)).Read(&batch)
	})
}

// TestErrors holds that what errors.As and errors.Is find in an error they find behind the wire.
func TestErrors(t *testing.T) {
	sentinel := errors.New("it is gone")
	kinds := GridKinds()
	kinds.Sentinel("gone", sentinel)
	original := fmt.Errorf("process 3: %w", errors.Join(grid.ErrDeferred{Reason: "busy"}, sentinel, &grid.FocusError{Text: "/x", Column: 2, Known: []string{"y"}}))
	var answer Answer
	if err := NewReader(bytes.NewReader(frame(t, &Answer{Err: kinds.Encode(original)}))).Read(&answer); err != nil {
		t.Fatal(err)
	}
	got := kinds.Decode(answer.Err)
	var deferred grid.ErrDeferred
	var focus *grid.FocusError
	if got.Error() != original.Error() || !errors.As(got, &deferred) || deferred.Reason != "busy" || !errors.Is(got, sentinel) ||
		!errors.As(got, &focus) || focus.Column != 2 || len(focus.Known) != 1 || errors.As(got, &grid.ErrRefused{}) {
		t.Errorf("%v: %+v, %+v", got, deferred, focus)
	}
	if kinds.Decode(kinds.Encode(nil)) != nil {
		t.Error("no error became one")
	}
	if err := (&Kinds{}).Decode(answer.Err); err.Error() != original.Error() || errors.As(err, &deferred) {
		t.Errorf("kinds that are not known: %v", err)
	}
}

// TestOrder brings numbers in disorder; a letter for what comes out.
func TestOrder(t *testing.T) {
	at := time.Now()
	for _, c := range []struct {
		in   []uint64
		out  string
		last string // error of the last
	}{
		{[]uint64{1, 2, 3}, "[1][2][3]", ""},
		{[]uint64{3, 2, 1, 4}, "[][][1 2 3][4]", ""},
		{[]uint64{1, 1}, "[1][]", "message 1 came before"},
		{[]uint64{2, 2}, "[][]", "message 2 came before"},
		{[]uint64{0}, "[]", "message 0 came before"},
	} {
		var o Order[uint64]
		var out string
		var err error
		for _, n := range c.in {
			var turn []uint64
			turn, err = o.Put(n, n, at)
			out += fmt.Sprint(turn)
		}
		if fmt.Sprint(err) != cmpText(c.last) || out != c.out {
			t.Errorf("%v: %s, %v", c.in, out, err)
		}
	}
	var o Order[int]
	o.Put(2, 0, at)
	if err := o.Missing(at.Add(maxWait + 1)); !errors.As(err, &ErrOrder{}) || err.Error() != "message 1 did not come" {
		t.Errorf("one that is missing for long: %v", err)
	}
	var err error
	for n := uint64(3); err == nil && n < 10*maxAhead; n++ {
		_, err = o.Put(n, 0, at)
	}
	if err == nil || err.Error() != "message 1 did not come" {
		t.Errorf("too many ahead: %v", err)
	}
}

func cmpText(want string) string {
	if want == "" {
		return "<nil>"
	}
	return want
}
