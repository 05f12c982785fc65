package target

import (
	"fmt"

	"culprit/daemon/patch"
	"culprit/daemon/program"
)

// Code that goes away. A library that the process unloads takes our jumps with it; nothing may be written to what is mapped at
// its addresses afterwards. Each batch therefore compares, while the process stands still, what is mapped and what bytes are
// there with what it expects; here what is known of a library is forgotten.

// Leave takes leave of an object that is not mapped any more: its sites are dropped. Children that were forked while it was there may still
// run in its trampolines, which therefore stay. It tells whose code was wanted at the sites.
func (c *Code) Leave(o *program.Object) []patch.Owner {
	switch places, err := c.Text.TakeBack(module{o}); {
	case places == 0:
	case err == nil:
		c.settings.Log(fmt.Sprintf("%s has moved the code of %s to memory of its own: %d places with probes got their old bytes there", c.Name, o.Name, places))
	case !c.Proc.Gone():
		c.settings.Log(fmt.Sprintf("%s: putting back what was there before in code that has moved: %v", c.Name, err))
	}
	defer c.Sequences.Forget(o)
	return c.Text.Forget(module{o})
}
