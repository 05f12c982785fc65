package report

import "testing"

// TestLasting: numbers of a run are taken out of names, and those that belong to the program stay.
func TestLasting(t *testing.T) {
	for in, want := range map[string]string{
		"/Process/srv{42}/thr_43{work}": "/Process/srv/thr{work}", "/SyncObject/Mutex/0x7ffe12": "/SyncObject/Mutex/ADDRESS",
		"/Code/srv/[srv+0x1613d0]": "/Code/srv/[srv+0x1613d0]", "/IO/Pipe/pipe:[981]": "/IO/Pipe/pipe", "/IO/File//proc/77/stat": "/IO/File//proc/PID/stat",
	} {
		if got := (Focus{"X": in}).Lasting()["X"]; got != want {
			t.Errorf("%s: %s, expected %s", in, got, want)
		}
	}
}
