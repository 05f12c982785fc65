package pcl

import (
	"fmt"
	"strings"
)

// What the kernel keeps can be had for a function, a loop or a module as well: where a flag constraint would set its flag, a probe
// notes what the kernel's row of the thread says, and where it would clear it, adds how much that has grown. So the flag itself is
// the timer.

// KeptByKernel reports whether the plan has no code: what it measures is read from the kernel as it is.
func (p *Plan) KeptByKernel() bool { return p.Kind == Kernel && len(p.Vars) == 0 }

// compileRow makes a plan that reads the rows where the one flag of a kernel base changes.
func (c *compiler) compileRow(x *matching) error {
	own := c.newVar(c.m.ident, Kernel)
	c.flag = own
	if err := c.compileFlag(x, x.flags[0]); err != nil {
		return err
	}
	for i := range c.plan.Requests {
		code := c.plan.Requests[i].Code
		for j := range code {
			if !code[j].timesFlag(own) {
				f := x.flags[0].ident
				return errorAt(x.flags[0].pos, "constraint %s: found %s, expected only %s = 1 and %s = 0: it constrains what the kernel keeps, and times that",
					f, strings.Replace(c.plan.writer().instr(code[j]), c.m.ident, f, 1), f, f)
			}
		}
	}
	return nil
}

var flagTimers = map[Op]Op{OpFlagEnter: OpTimerEnter, OpFlagLeave: OpTimerLeave}

// timesFlag turns the primitive that sets or clears the flag into the one that starts or stops the timer of the same number; it is
// false for other primitives.
func (in *Instr) timesFlag(own int) bool {
	if in.Op == OpCall || in.Var != own {
		return false
	}
	if op, ok := flagTimers[in.Op]; ok {
		in.Op = op
		return true
	}
	if in.Op != OpSet || in.Expr.Op != ExConst {
		return false
	}
	if in.Op = OpTimerStop; in.Expr.Value != 0 {
		in.Op = OpTimerStart
	}
	in.Expr = nil
	return true
}

// rowsNeed says why a kernel base cannot be had under several constraints at once.
func (x *matching) rowsNeed() string {
	return fmt.Sprintf("one timer for both constraints, %s and %s; choose a focus with one of them", x.flags[0].ident, x.flags[1].ident)
}
