package wakers

import (
	"sync"

	"culprit/daemon/threadstats"
)

// A Kernel is a Source that the kernel counts for. It is loaded in the background when it is first asked: that takes some time. The zero value
// is ready. Without Close it goes on until this process ends.
type Kernel struct {
	mu      sync.Mutex
	wakers  *threadstats.Wakers // nil while it is not loaded
	err     error               // why it cannot be
	pids    []int
	loading sync.WaitGroup
	began   bool
	closed  bool
}

// Count implements Source. Until the kernel counts nothing is counted, which is no error.
func (k *Kernel) Count(pids []int) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pids = pids
	switch {
	case k.err != nil, k.closed:
		return k.err
	case k.wakers != nil:
		k.wakers.Sum(pids)
	case !k.began && len(pids) > 0:
		k.began = true
		k.loading.Add(1)
		go k.load()
	}
	return nil
}

func (k *Kernel) load() {
	defer k.loading.Done()
	w, err := threadstats.OpenWakers()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.wakers, k.err = w, err; err == nil {
		w.Sum(k.pids)
	}
}

// Take implements Source.
func (k *Kernel) Take() ([]threadstats.Waking, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err != nil || k.wakers == nil {
		return nil, k.err
	}
	return k.wakers.Take()
}

// Close has nothing counted any more.
func (k *Kernel) Close() error {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.loading.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.wakers == nil {
		return nil
	}
	w := k.wakers
	k.wakers = nil
	return w.Close()
}
