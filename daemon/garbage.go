package daemon

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// Garbage is collected when as much was made as is alive. While little is alive that is again and again for a few megabytes, eleven times in
// the half second that it takes to attach to nine processes, and each time takes processors from them: so at least leastMade has to be
// made, which is what is alive later on and half as much again.
const leastMade = 96 << 20

// rarely is how much is made, in percent of what is alive, while much is made at once that stays, or is free a moment later.
const rarely = 400

// A collector keeps the runtime from collecting garbage too often. It is the runtime's, and so for all daemons of this process.
type collector struct {
	mu    sync.Mutex
	usual int // percent, as the user has it (GOGC); negative: never by itself
	set   int
	rare  int // who wants it rarely
}

var garbage = sync.OnceValue(func() *collector {
	c := &collector{usual: debug.SetGCPercent(100)}
	c.set = 100
	c.follow()
	return c
})

// follow adapts to what is alive, now and after each collection.
func (c *collector) follow() {
	c.adapt()
	type sentinel struct{ _ *int } // with a pointer: others are put together, and live as long as their neighbours
	runtime.AddCleanup(&sentinel{}, (*collector).follow, c)
}

// collectRarely has garbage collected more rarely until asBefore is called.
func (c *collector) collectRarely() (asBefore func()) {
	c.want(1)
	return func() { c.want(-1) }
}

func (c *collector) want(more int) {
	c.mu.Lock()
	c.rare += more
	c.mu.Unlock()
	c.adapt()
}

func (c *collector) adapt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if percent := c.percent(alive()); percent != c.set {
		debug.SetGCPercent(percent) // which stops all goroutines for a moment
		c.set = percent
	}
}

// percent is how much may be made before garbage is collected, when so many bytes are alive.
func (c *collector) percent(alive uint64) int {
	if c.usual < 0 {
		return c.usual
	}
	percent := max(c.usual, int(100*leastMade/alive))
	if c.rare > 0 {
		percent = max(percent, rarely)
	}
	return percent
}

// alive is how many bytes the last collection has found alive: 4 MiB at least, of which the runtime takes its percentage if it is less.
func alive() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return max(sample[0].Value.Uint64(), 4<<20)
}
