package session

import (
	"errors"
	"testing"

	"culprit/grid"
)

// What is misspelt among locks and files is told with what the target has instead; what is there, or is like nothing, is not.
func TestSimilarObject(t *testing.T) {
	tree := grid.NewTree()
	for _, path := range [][]string{{"Mutex", "table_lock"}, {"RWLock", "cache_lock"}} {
		tree.Add(grid.SyncObject, path...)
	}
	tree.Add(grid.IO, "File", "/var/log/app.log")
	for _, c := range []struct {
		h    grid.Hierarchy
		path []string
		want string
	}{
		{grid.SyncObject, []string{"Mutex", "tabel_lock"}, `none (did you mean "/SyncObject/Mutex/table_lock"?)`},
		{grid.SyncObject, []string{"Mutex", "cache_lock"}, `none (did you mean "/SyncObject/RWLock/cache_lock"?)`},
		{grid.SyncObject, []string{"Mutexes", "table_lock"}, `none (did you mean "/SyncObject/Mutex"?)`},
		{grid.SyncObject, []string{"Mutex", "table_lock"}, "none"},
		{grid.SyncObject, []string{"Mutex", "elsewhere"}, "none"},
		{grid.IO, []string{"File", "/var/log/ap.log"}, `none (did you mean "/IO/File//var/log/app.log"?)`},
		{grid.IO, []string{"File", "var/log/app.log"}, `none (did you mean "/IO/File//var/log/app.log"?)`},
		{grid.Code, []string{"a.c", "f"}, "none"},
	} {
		if err := withSimilarObject(tree, errors.New("none"), grid.Whole().Refine(c.h, c.path...)); err.Error() != c.want {
			t.Errorf("%v: %q, %q is wanted", c.path, err, c.want)
		}
	}
}
