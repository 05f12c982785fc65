package compile

import (
	"strings"

	"culprit/pcl"
	"culprit/pcl/syntax"
)

// What the kernel keeps can be measured for a function, a loop or a module as well. Where a flag constraint would set its flag, a probe
// notes what the kernel's counter of the thread says; where it would clear the flag, the probe adds how much the counter has grown. So
// the flag itself is the timer.

// compileKernel makes a plan that reads the kernel's counters where the one flag of a kernel base changes.
func (c *compiler) compileKernel(x *pcl.Match) error {
	own := c.newVar(c.m.Ident, pcl.Kernel)
	c.flag = own
	if err := c.compileFlag(x, x.Flags[0]); err != nil {
		return err
	}
	for i := range c.plan.Requests {
		code := c.plan.Requests[i].Code
		for j := range code {
			if !timesFlag(&code[j], own) {
				f := x.Flags[0].Ident
				return syntax.ErrorAt(x.Flags[0].Pos, "constraint %s: found %s, expected only %s = 1 and %s = 0: it constrains what the kernel keeps, and times that",
					f, strings.Replace(c.plan.InstrText(code[j]), c.m.Ident, f, 1), f, f)
			}
		}
	}
	return nil
}

var flagTimers = map[pcl.Op]pcl.Op{pcl.OpFlagEnter: pcl.OpTimerEnter, pcl.OpFlagLeave: pcl.OpTimerLeave}

// timesFlag turns the primitive that sets or clears the flag into the one that starts or stops the timer of the same number; it is
// false for other primitives.
func timesFlag(in *pcl.Instr, own int) bool {
	if in.Op == pcl.OpCall || in.Var != own {
		return false
	}
	if op, ok := flagTimers[in.Op]; ok {
		in.Op = op
		return true
	}
	if in.Op != pcl.OpSet || in.Expr.Op != pcl.ExConst {
		return false
	}
	if in.Op = pcl.OpTimerStop; in.Expr.Value != 0 {
		in.Op = pcl.OpTimerStart
	}
	in.Expr = nil
	return true
}
