package contexts

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"culprit/daemon/libc"
	"culprit/daemon/process"
)

// A handler is what a signal does.
type handler struct{ addr, flags uint64 }

// kernelAction is the size of the kernel's struct sigaction: the handler, flags, where it returns to, a set of signals of sigsetSize bytes.
const (
	kernelAction = 32
	sigsetSize   = 8
)

// catches is the set of signals that the process has a handler for, the C library's own two left out (bit n-1 of SigCgt in
// /proc/PID/status is signal n).
func (c *Contexts) catches() uint64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cfg.Proc.PID()))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "\nSigCgt:")
	line, _, _ := strings.Cut(rest, "\n")
	set, _ := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
	return set &^ libc.OwnSignals
}

// handlers asks the kernel for the handlers that the process has installed.
func (c *Contexts) handlers(w *process.World) (list []handler, err error) {
	c.caught, c.loads = c.catches(), c.cfg.Code.Loads()
	at, mem := c.seg.Scratch(kernelAction)
	for sig := uint64(1); sig <= 64; sig++ {
		if c.caught&(1<<(sig-1)) == 0 {
			continue
		}
		if _, err := w.Syscall(unix.SYS_RT_SIGACTION, sig, 0, at, sigsetSize); err != nil {
			return nil, err
		}
		var action [kernelAction]byte
		if err := w.ReadMem(process.Addr(at), action[:]); err != nil {
			return nil, err
		}
		list = append(list, handler{binary.LittleEndian.Uint64(action[:]), binary.LittleEndian.Uint64(action[8:])})
	}
	clear(mem)
	return list, nil
}

// handlersDue reports whether it is to be found out anew where the handlers lead: there are other handlers, or there is other code.
func (c *Contexts) handlersDue() bool {
	return c.why == "" && c.seg != nil && (c.foreign != 0 || (c.loads != c.cfg.Code.Loads() || c.caught != c.catches()) && c.MaySwitch())
}

// LookAtHandlers finds out whether one of the process's handlers leaves for another context, as far as that is to be found out anew.
func (c *Contexts) LookAtHandlers() error {
	if !c.handlersDue() {
		return nil
	}
	var list []handler
	err := c.cfg.Stops.Stop(func(w *process.World) (err error) {
		list, err = c.handlers(w)
		return err
	})
	tid := c.foreign
	c.foreign = 0
	switch {
	case c.why != "":
		return nil
	case tid != 0 && (err != nil || c.mayExchange(list)):
		c.Schedules(foreignStack(tid))
	}
	for _, h := range list {
		if f := c.cfg.Code.FunctionAt(h.addr); c.why == "" && f != nil && c.leadsToSwitch(f) {
			c.Schedules("the handler " + f.Fn.Name + " leaves for another context")
		}
	}
	return err
}

// LookFirst is LookAtHandlers before anything is patched, once. What is not known then is taken for the worse.
func (c *Contexts) LookFirst() {
	if c.looked {
		return
	}
	c.looked = true
	if err := process.Patiently(c.LookAtHandlers); err != nil && c.why == "" && !c.cfg.Proc.Gone() {
		c.Schedules(fmt.Sprintf("where its signal handlers lead cannot be told: %v", err))
	}
}

// Suspected reports whether a thread was seen on a stack that is not its own, and where the handlers lead was not looked at since.
func (c *Contexts) Suspected() bool { return c.foreign != 0 }

// Caught is the set of signals that had a handler when handlers were last looked at: bit n-1 is signal n.
func (c *Contexts) Caught() uint64 { return c.caught }
