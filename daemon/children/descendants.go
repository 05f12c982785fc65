package children

import "culprit/daemon/kernel"

// Descendants lists the children of a process and theirs, parents before their children. Those whose parent has ended are not
// among them.
func Descendants(pid int) (pids []int) {
	children := map[int][]int{}
	for _, p := range kernel.Processes() {
		children[p.Parent] = append(children[p.Parent], p.PID)
	}
	seen := map[int]bool{pid: true}
	for next := children[pid]; len(next) > 0; next = next[1:] {
		if seen[next[0]] {
			continue
		}
		seen[next[0]] = true
		pids = append(pids, next[0])
		next = append(next, children[next[0]]...)
	}
	return pids
}
