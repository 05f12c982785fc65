package report

import "regexp"

// numbers are what names have of a run: the number of a process or a thread, the address of an object, the number of a pipe or a socket. The place
// of a function in its file ("[srv+0x1613d0]") is the same in each run.
var numbers = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\bthr_\d+`), "thr"},
	{regexp.MustCompile(`\{\d+\}`), ""},
	{regexp.MustCompile(`/proc/\d+`), "/proc/PID"},
	{regexp.MustCompile(`(^|[^+0-9A-Za-z])0x[0-9a-fA-F]+`), "${1}ADDRESS"},
	{regexp.MustCompile(`:\[\d+\]`), ""},
}

// Lasting is the focus as it is called in each run of a program: without the numbers of processes, threads and sockets, and without addresses.
func (f Focus) Lasting() Focus {
	out := Focus{}
	for h, path := range f {
		for _, n := range numbers {
			path = n.pattern.ReplaceAllString(path, n.instead)
		}
		out[h] = path
	}
	return out
}
