package threadstats

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"culprit/internal/kerneltypes"
)

// A Keeper has the programs that keep rows, for all processes that are watched. Without Close they run, but for rests, until this
// process ends, however it ends.
type Keeper struct {
	mu     sync.Mutex
	shape  *shape
	maps   *maps
	filter []byte // maps.filter, mapped
	always []*attached
	extra  [needCount][]*attached
	needed [needCount]int
	walker *ebpf.Program // meeting; nil where the kernel has no walks over tasks
	types  *btf.Cache    // the kernel's description of itself; nil from the first rest until it is read again
	tables map[*Table]bool
	stats  io.Closer // while Cost's figures are kept
	closed bool

	left    time.Time // when somebody needed something last
	resting bool      // nobody has for a while: see Rest
}

// switchHooks are there as long as the Keeper, but while it rests.
var switchHooks = []hook{
	{name: "culprit_born", points: []string{"sched_wakeup_new"}, make: born},
	{name: "culprit_switch", points: []string{"sched_switch"}, make: switches},
}

// Open loads the programs of switches and lets the kernel run them. Its errors are ErrNotPermitted, ErrNoBTF and ErrUnsupported.
// It takes some 30 ms, on kernels before 6.9 some 90, and 10 MB: the kernel checks the programs, and its description of its types is read.
func Open() (*Keeper, error) { return open((*shape).today) }

// open is Open on a kernel of which only some things are used that not all have.
func open(known func(*shape)) (*Keeper, error) {
	if err := permitted(); err != nil {
		return nil, err
	}
	types := kerneltypes.Cache()
	s, err := usable(types)
	if err != nil {
		return nil, err
	}
	known(s)
	m, err := newMaps()
	if err != nil {
		return nil, err
	}
	k := &Keeper{shape: s, maps: m, types: types, tables: map[*Table]bool{}}
	if err := k.begin(); err != nil {
		k.Close()
		return nil, err
	}
	return k, nil
}

// begin maps the filter, attaches the programs of switches and loads the walk.
func (k *Keeper) begin() (err error) {
	if k.filter, err = mapWhole(k.maps.filter.FD(), filterSize); err != nil {
		return explain("mapping the filter", err)
	}
	if k.always, err = k.attach(switchHooks); err != nil {
		return err
	}
	return k.loadWalker()
}

// license is what the programs say of themselves: the kernel gives what they read its memory with only to what can be had
// under the GPL. It is said of these few programs, which are ours, and of nothing else.
const license = "Dual MIT/GPL"

// Close takes the programs away, and forgets all tables, which keep their sums until they are closed themselves.
func (k *Keeper) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil
	}
	k.closed = true
	errs := []error{closeAll(k.always), k.endCost()}
	for _, extra := range k.extra {
		errs = append(errs, closeAll(extra))
	}
	if k.walker != nil {
		errs = append(errs, k.walker.Close())
	}
	if k.filter != nil {
		errs = append(errs, unmap(k.filter))
	}
	k.maps.close()
	return errors.Join(errs...)
}

// errClosed is what a closed Keeper says.
var errClosed = fmt.Errorf("the per-thread statistics are closed: %w", os.ErrClosed)
