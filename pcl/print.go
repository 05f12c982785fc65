package pcl

import (
	"fmt"
	"strings"
)

// String writes the plan as text: a line for what it is, one for each variable, one for each request. Functions are
// the numbers that the Env gave out. Equal plans give equal texts.
func (p *Plan) String() string { return p.Describe(number) }

func number(id FuncID) string { return fmt.Sprint(uint64(id)) }

// RequestText is a line of String. Equal requests of a plan give equal texts.
func (p *Plan) RequestText(r *Request) string { return planWriter{p, number}.request(r) }

// InstrText is what String writes for a primitive.
func (p *Plan) InstrText(in Instr) string { return planWriter{p, number}.instr(in) }

// Describe is String with the names of functions that a caller gives.
func (p *Plan) Describe(name func(FuncID) string) string {
	w := planWriter{p, name}
	var sb strings.Builder
	fmt.Fprintf(&sb, "%v: %s", p.Pair, KindText(p.Kind, p.Distribution))
	switch {
	case p.Event != "":
		fmt.Fprintf(&sb, "(hwCounter(%q))", p.Event)
	case p.Kind == Kernel:
		fmt.Fprintf(&sb, "(%q)", p.KernelName)
	}
	if p.Process != "" {
		fmt.Fprintf(&sb, ", process %q", p.Process)
	}
	if p.Thread != "" {
		fmt.Fprintf(&sb, ", thread %q", p.Thread)
	}
	if p.By != 0 {
		sb.WriteString(", by " + w.varName(p.By))
	}
	if p.Keyed {
		fmt.Fprintf(&sb, ", key %#x", p.Key)
	}
	if p.ExcludeParked {
		sb.WriteString(", parked excluded")
	}
	if p.Samples != "" {
		sb.WriteString(", samples " + p.Samples)
	}
	sb.WriteByte('\n')
	for _, v := range p.Vars {
		fmt.Fprintf(&sb, "  %v %s\n", v.Kind, v.Name)
	}
	for i := range p.Requests {
		sb.WriteString("  " + w.request(&p.Requests[i]) + "\n")
	}
	return sb.String()
}

// A planWriter writes a plan with names of functions.
type planWriter struct {
	*Plan
	name func(FuncID) string
}

// request writes "append preInsn 17.entry if flag { m += 1 }".
func (p planWriter) request(r *Request) string {
	s := "append "
	if r.Prepend {
		s = "prepend "
	}
	insn := "preInsn"
	if r.Post {
		insn = "postInsn"
	}
	s += fmt.Sprintf("%s %s.%s", insn, p.name(r.Func), r.Where)
	if r.Where == Call || r.Where == Insn || r.Where.OfLoop() {
		s += fmt.Sprintf("[%d]", r.Site)
	}
	for i, g := range r.Guards {
		s += [2]string{" if ", " and "}[min(i, 1)] + p.varName(g)
	}
	var code []string
	for _, in := range r.Code {
		code = append(code, p.instr(in))
	}
	return s + " { " + strings.Join(code, "; ") + " }"
}

// String is the word that Plan.String uses.
func (w Where) String() string {
	switch w {
	case Entry:
		return "entry"
	case Return:
		return "return"
	case Call:
		return "call"
	case Insn:
		return "insn"
	case LoopEnter:
		return "enter"
	case LoopExit:
		return "exit"
	case LoopStartIter:
		return "start_iter"
	case LoopEndIter:
		return "end_iter"
	}
	return "invalid"
}

func (p planWriter) varName(i int) string {
	if i >= 0 && i < len(p.Vars) {
		return p.Vars[i].Name
	}
	return fmt.Sprintf("invalid(%d)", i)
}

var opVerbs = map[Op]string{OpFlagEnter: "enter", OpFlagLeave: "leave", OpTimerEnter: "timerEnter", OpTimerLeave: "timerLeave",
	OpTimerStart: "timerStart", OpTimerStop: "timerStop"}

func (p planWriter) instr(in Instr) string {
	s := ""
	if in.Cond != nil {
		s = "if (" + p.expr(in.Cond) + ") "
	}
	name := p.varName(in.Var)
	switch in.Op {
	case OpAdd:
		return s + name + " += " + p.expr(in.Expr)
	case OpSet:
		return s + name + " = " + p.expr(in.Expr)
	}
	if in.Op == OpCall {
		return s + p.expr(in.Expr)
	}
	return s + opVerbs[in.Op] + " " + name
}

// Operators are the binary operators as they are written.
var Operators = map[string]ExprOp{"+": ExAdd, "-": ExSub, "*": ExMul, "/": ExDiv, "==": ExEq, "!=": ExNe, "<": ExLt, "<=": ExLe, ">": ExGt,
	">=": ExGe, "&&": ExAnd, "||": ExOr}

// text is how a binary operator is written.
func (op ExprOp) text() string {
	for text, o := range Operators {
		if o == op {
			return text
		}
	}
	return "invalid"
}

func (p planWriter) expr(e *Expr) string {
	switch e.Op {
	case ExConst:
		return fmt.Sprint(e.Value)
	case ExArg:
		return fmt.Sprintf("$arg[%d]", e.Value)
	case ExReturn:
		return "$return"
	case ExCallee:
		return "$callee"
	case ExVar:
		return p.varName(int(e.Value))
	case ExNeg:
		return "-" + p.operand(e.L)
	case ExAddr:
		return "&" + p.varName(int(e.Value))
	case ExCall:
		return p.call(e)
	case ExNarrow, ExSP, ExStack, ExLoad, ExMatch, ExPath:
		return p.memory(e)
	case ExFile:
		return "file(" + p.expr(e.L) + ")"
	case ExRenew:
		return p.renew(e)
	}
	return p.operand(e.L) + " " + e.Op.text() + " " + p.operand(e.R)
}

func (p planWriter) call(e *Expr) string {
	var args []string
	for _, a := range e.Args {
		args = append(args, p.expr(a))
	}
	return fmt.Sprintf("call %s(%s)", p.name(FuncID(e.Value)), strings.Join(args, ", "))
}

// memory writes "int32(x)", "uint64[x+8]" (or "stack" in front of it where it is certainly there), `[x+8] == "text\x00"` and `path[x+8] == "/a/path"`.
func (p planWriter) memory(e *Expr) string {
	number := fmt.Sprintf("int%d", 8*int(e.Size))
	if !e.Signed {
		number = "u" + number
	}
	switch e.Op {
	case ExNarrow:
		return number + "(" + p.expr(e.L) + ")"
	case ExSP:
		return "$sp"
	case ExStack:
		return fmt.Sprintf("stack %s[$sp%+d]", number, e.Value)
	case ExLoad:
		return fmt.Sprintf("%s[%s%+d]", number, p.operand(e.L), e.Value)
	case ExPath:
		return fmt.Sprintf("path[%s%+d] == %q", p.operand(e.L), e.Value, e.Text)
	}
	return fmt.Sprintf("[%s%+d] == %q", p.operand(e.L), e.Value, e.Text)
}

func (p planWriter) operand(e *Expr) string {
	if e.L != nil && e.Op != ExNarrow && e.Op != ExLoad && e.Op != ExFile {
		return "(" + p.expr(e) + ")"
	}
	return p.expr(e)
}

// renew writes "renew(x, y)".
func (p planWriter) renew(e *Expr) string {
	if e.R == nil {
		return "renew(" + p.expr(e.L) + ")"
	}
	return "renew(" + p.expr(e.L) + ", " + p.expr(e.R) + ")"
}
