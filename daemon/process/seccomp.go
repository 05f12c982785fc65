package process

import "math/rand/v2"

// Filtered reports whether system calls of the target's threads pass a filter, or are forbidden but a few (seccomp(2)). It looks at
// the first thread and at most others more: a filter may be that of one thread alone.
func (p *Process) Filtered(others int) (bool, error) {
	release, err := p.use()
	if err != nil {
		return false, err
	}
	defer release()
	s, err := readStatus(p.pid, 0)
	if err != nil {
		return false, p.gone(err)
	}
	if s.seccomp != 0 {
		return true, p.alive()
	}
	tids, err := listThreads(p.pid)
	if err != nil {
		return false, p.gone(err)
	}
	for i, k := range rand.Perm(len(tids)) {
		if i == others {
			break
		}
		if s, err := readStatus(p.pid, tids[k]); err == nil && s.seccomp != 0 {
			return true, p.alive()
		}
	}
	return false, p.alive()
}
