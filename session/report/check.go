package report

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"culprit/internal/safetext"
)

// What is read from a file may be damaged, or written by somebody else: nothing of it is believed.

const (
	deepest    = 1000 // steps from the root to a node of a report that a search has made, at most
	longest    = 1000 // characters of a name or a sentence
	notAsItWas = "it is damaged: "
)

// check says what a report that was read cannot have if a session has written it; nil if there is nothing.
func (r *Report) check() error {
	if _, err := time.Parse(time.RFC3339Nano, r.Started); err != nil && r.Started != "" {
		return fmt.Errorf(notAsItWas+"it began at %q, which is no time", safetext.CleanMax(r.Started, 40))
	}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		switch {
		case n.ID != i+1:
			return fmt.Errorf(notAsItWas+"node %d stands in the place of node %d", n.ID, i+1)
		case n.Samples < 0 || n.Confidence < 0 || n.Confidence > 1:
			return fmt.Errorf(notAsItWas+"node %d has %d readings and is %g sure", n.ID, n.Samples, float64(n.Confidence))
		}
		for _, id := range n.Parents {
			if id < 1 || id > len(r.Nodes) {
				return fmt.Errorf(notAsItWas+"node %d is below node %d, which is not there", n.ID, id)
			}
		}
	}
	return r.checkWays()
}

// checkWays says whether a node is below itself, or deeper than any search goes.
func (r *Report) checkWays() error {
	below, open, depth := make([][]int, len(r.Nodes)), make([]int, len(r.Nodes)), make([]int, len(r.Nodes))
	var ready []int
	for i := range r.Nodes {
		for _, id := range r.Nodes[i].Parents {
			below[id-1] = append(below[id-1], i)
		}
		if open[i] = len(r.Nodes[i].Parents); open[i] == 0 {
			ready = append(ready, i)
		}
	}
	for at := 0; at < len(ready); at++ {
		i := ready[at]
		if depth[i] > deepest {
			return fmt.Errorf(notAsItWas+"node %d is %d steps below the root", i+1, depth[i])
		}
		for _, k := range below[i] {
			depth[k] = max(depth[k], depth[i]+1)
			if open[k]--; open[k] == 0 {
				ready = append(ready, k)
			}
		}
	}
	if len(ready) < len(r.Nodes) {
		return errors.New(notAsItWas + "some nodes are below themselves")
	}
	return nil
}

// clean makes all texts of a value fit for a terminal, and as long as a session writes them at most.
func clean(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(safetext.CleanMax(v.String(), longest))
	case reflect.Pointer:
		if !v.IsNil() {
			clean(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			clean(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			clean(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			name, value := reflect.New(k.Type()).Elem(), reflect.New(v.Type().Elem()).Elem()
			name.Set(k)
			value.Set(v.MapIndex(k))
			clean(name)
			clean(value)
			v.SetMapIndex(k, reflect.Value{})
			v.SetMapIndex(name, value)
		}
	}
}
