package syntax

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// lineWidth is where lists and code are broken into lines.
const lineWidth = 110

// Print writes a tree in the canonical layout. Printing what was parsed from the output gives the same text again.
// Comments are kept; those inside an expression or a list move to the next item.
func Print(t *Tree) string {
	w := &printer{}
	for i, d := range t.Defs {
		if i > 0 {
			w.sb.WriteByte('\n')
		}
		w.def(d)
	}
	if len(t.Defs) > 0 && len(t.Tail) > 0 {
		w.sb.WriteByte('\n')
	}
	w.lines(t.Tail)
	return w.sb.String()
}

type printer struct {
	sb     strings.Builder
	indent int
}

// Deeper than this nothing is moved to the right any more: a text that is nested hundreds of levels would become many times
// as long.
const maxIndent = 20

var indentation = strings.Repeat("    ", maxIndent)

// margin is how many blanks a line begins with.
func (w *printer) margin() int { return 4 * min(w.indent, maxIndent) }

func (w *printer) line(parts ...string) {
	w.sb.WriteString(indentation[:w.margin()])
	for _, p := range parts {
		w.sb.WriteString(p)
	}
	w.sb.WriteByte('\n')
}

// lines writes comments.
func (w *printer) lines(comments []string) {
	for _, c := range comments {
		if c == "" {
			w.sb.WriteByte('\n')
			continue
		}
		w.line(c)
	}
}

// trail is the comment behind a node as it is written.
func trail(c Comments) string {
	if c.Trail == "" {
		return ""
	}
	return " " + c.Trail
}

func (w *printer) def(d *Def) {
	w.lines(d.Lead)
	switch d.Keyword {
	case "exclude":
		w.line("exclude ", when(d.NoCase, "noCase "), when(d.Regex, "regex "), quote(d.Text), ";", trail(d.Comments))
	case "constraint":
		w.constraint(d, trail(d.Comments))
	case "tunable_constant":
		w.tunables(d)
	default:
		head := d.Keyword + " " + d.Name
		if d.ListKind != "" {
			head += " is " + d.ListKind
		}
		w.line(head, " {")
		w.items(d)
		w.line("}", trail(d.Comments))
	}
}

func when(cond bool, s string) string {
	if cond {
		return s
	}
	return ""
}

func quote(s string) string { return `"` + s + `"` }

func (w *printer) items(d *Def) {
	w.indent++
	for _, it := range d.Items {
		w.lines(it.Lead)
		w.item(it)
	}
	w.lines(d.Tail)
	w.indent--
}

func (w *printer) tunables(d *Def) {
	if !d.Braced {
		it := d.Items[0]
		w.line("tunable_constant ", it.Values[0].String(), " ", it.Values[1].String(), ";", trail(d.Comments))
		return
	}
	w.line("tunable_constant {")
	w.indent++
	for _, it := range d.Items {
		w.lines(it.Lead)
		w.line(it.Values[0].String(), " ", it.Values[1].String(), ";", trail(it.Comments))
	}
	w.lines(d.Tail)
	w.indent--
	w.line("}", trail(d.Comments))
}

// String writes the value as it is written in a text.
func (v Value) String() string {
	switch {
	case v.Pattern != "":
		return v.Pattern + " " + quote(v.Text)
	case v.Kind == String:
		return quote(v.Text)
	case v.Kind == Bool:
		return strings.ToLower(v.Text)
	}
	return v.Text
}

func (w *printer) item(it *Item) {
	end := trail(it.Comments)
	switch {
	case it.Def != nil:
		w.constraint(it.Def, end)
	case it.Base != nil:
		w.base("base is ", it.Base, end)
	case it.Key == "": // of an expect
		at := ""
		if len(it.Values) > 0 {
			at = " at " + it.Values[0].String()
		}
		w.line(when(it.Not, "not "), it.Expr.String(), at, ";", end)
	case it.Expr != nil:
		w.line(it.Key, " ", it.Expr.String(), ";", end)
	case it.Key == "record":
		var parts []string
		for _, e := range it.Exprs {
			parts = append(parts, e.String())
		}
		w.set("record", parts, end)
	case it.Key == "item":
		w.set("item "+it.Values[0].String()+" is", valueTexts(it.Values[1:]), end)
	case it.Braced:
		w.set(it.Key, valueTexts(it.Values), end)
	default:
		w.line(it.Key, " ", it.Values[0].String(), ";", end)
	}
}

func valueTexts(vs []Value) []string {
	var out []string
	for _, v := range vs {
		out = append(out, v.String())
	}
	return out
}

// set writes { a, b }; over several lines if it is long.
func (w *printer) set(head string, parts []string, end string) {
	if len(parts) == 0 {
		w.line(head, " { };", end)
		return
	}
	one := head + " { " + strings.Join(parts, ", ") + " };"
	if w.fits(one) {
		w.line(one, end)
		return
	}
	w.line(head, " {")
	w.indent++
	row := parts[0]
	for _, p := range parts[1:] {
		if !w.fits(row + ", " + p + ",") {
			w.line(row, ",")
			row = p
			continue
		}
		row += ", " + p
	}
	w.line(row)
	w.indent--
	w.line("};", end)
}

func (w *printer) fits(s string) bool {
	return w.margin()+utf8.RuneCountInString(s) <= lineWidth
}

func (w *printer) constraint(d *Def, end string) {
	head := "constraint " + d.Name
	if d.Path == nil {
		w.line(head, ";", end)
		return
	}
	head += " /" + strings.Join(d.Path, "/") + " is "
	if d.Base == nil {
		w.line(head, map[bool]string{true: "key;", false: "default;"}[d.Key], end)
		return
	}
	w.base(head+when(d.Replace, "replace "), d.Base, end)
}

func (w *printer) base(head string, b *Base, end string) {
	head += b.Kind
	switch b.Kind {
	case "hwCounter", "hwTimer", "kernel":
		head += "(" + quote(b.Arg) + ")"
	case "histogram":
		head += "(" + b.Arg + ")"
	}
	if b.By != "" {
		head += " by " + b.By
	}
	if b.Body == nil {
		w.line(head, ";", end)
		return
	}
	w.lines(b.Body.Lead)
	w.block(head+" ", b.Body, trail(b.Body.Comments)+end)
}

func (w *printer) block(head string, s *Stmt, end string) {
	if len(s.Stmts) == 0 && len(s.Tail) == 0 {
		w.line(head, "{ }", end)
		return
	}
	w.line(head, "{")
	w.indent++
	for _, c := range s.Stmts {
		w.stmt(c)
	}
	w.lines(s.Tail)
	w.indent--
	w.line("}", end)
}

func (w *printer) stmt(s *Stmt) {
	w.lines(s.Lead)
	switch s.Kind {
	case Block:
		w.block("", s, trail(s.Comments))
	case Foreach:
		w.headed("foreach "+s.Var+" in "+s.Expr.String(), s.Body)
	case If:
		w.headed("if ("+s.Expr.String()+")", s.Body)
	case Instr:
		w.insertion(s)
	}
}

// headed writes the head of a foreach or if with its body. Comments above the body go above the head.
func (w *printer) headed(head string, body *Stmt) {
	if body.Kind == Block {
		w.lines(body.Lead)
		w.block(head+" ", body, trail(body.Comments))
		return
	}
	w.line(head)
	w.indent++
	w.stmt(body)
	w.indent--
}

func (w *printer) insertion(s *Stmt) {
	head := "append "
	if s.Prepend {
		head = "prepend "
	}
	if s.Post {
		head += "postInsn "
	} else {
		head += "preInsn "
	}
	head += s.Expr.String() + when(s.Constrained, " constrained") + " (*"
	if one, ok := oneLine(head, s); ok && w.fits(one) {
		w.line(one, trail(s.Comments))
		return
	}
	w.line(head)
	w.indent++
	for _, c := range s.Code {
		w.lines(c.Lead)
		w.line(c.String(), trail(c.Comments))
	}
	w.lines(s.Tail)
	w.indent--
	w.line("*)", trail(s.Comments))
}

func oneLine(head string, s *Stmt) (string, bool) {
	if len(s.Tail) > 0 || slices.ContainsFunc(s.Code, func(c *Code) bool { return len(c.Lead) > 0 || c.Trail != "" }) {
		return "", false
	}
	for _, c := range s.Code {
		if len(head) > 4*lineWidth { // it will not fit, whatever follows
			return "", false
		}
		head += " " + c.String()
	}
	return head + " *)", true
}

// String writes the primitive with its semicolon.
func (c *Code) String() string {
	if c.Cond != nil {
		return "if (" + c.Cond.String() + ") " + c.Expr.String() + ";"
	}
	return c.Expr.String() + ";"
}

// String writes the expression with as few parentheses as its meaning allows.
func (e *Expr) String() string {
	var sb strings.Builder
	e.write(&sb, 0)
	return sb.String()
}

func (e *Expr) prec() int {
	switch e.Kind {
	case Binary, Assign:
		return precedence[e.Text]
	case AddrOf, Negate, Cast:
		return unary
	}
	return postfix
}

func (e *Expr) write(sb *strings.Builder, least int) {
	if e.prec() < least {
		sb.WriteByte('(')
		defer sb.WriteByte(')')
	}
	switch e.Kind {
	case Number:
		if e.IsFloat {
			sb.WriteString(e.Text)
		} else {
			sb.WriteString(strconv.FormatUint(uint64(e.Int), 10))
		}
	case Literal:
		sb.WriteString(quote(e.Text))
	case Ident:
		sb.WriteString(e.Text)
	case Call:
		sb.WriteString(e.Text + "(")
		for i, a := range e.Args {
			if i > 0 {
				sb.WriteString(", ")
			}
			a.write(sb, 0)
		}
		sb.WriteByte(')')
	case At:
		sb.WriteString(e.Text + "@" + quote(e.X.Text))
	default:
		e.writeOperator(sb)
	}
}

func (e *Expr) writeOperator(sb *strings.Builder) {
	switch e.Kind {
	case Index:
		e.X.write(sb, postfix)
		sb.WriteByte('[')
		e.Y.write(sb, 0)
		sb.WriteByte(']')
	case Field:
		e.X.write(sb, postfix)
		sb.WriteString("." + e.Text)
	case Deref:
		e.X.write(sb, postfix)
		sb.WriteString("->" + e.Text)
	case PostInc:
		e.X.write(sb, postfix)
		sb.WriteString("++")
	case Negate:
		sb.WriteByte('-')
		e.X.write(sb, unary)
	case Cast:
		sb.WriteString("(" + e.Text + ")")
		e.X.write(sb, unary)
	case AddrOf:
		sb.WriteByte('&')
		if e.X.Kind == AddrOf {
			sb.WriteByte(' ') // "&&" is another operator
		}
		e.X.write(sb, unary)
	case Binary:
		e.X.write(sb, e.prec())
		sb.WriteString(" " + e.Text + " ")
		e.Y.write(sb, e.prec()+1)
	case Assign:
		e.X.write(sb, e.prec()+1)
		sb.WriteString(" " + e.Text + " ")
		e.Y.write(sb, e.prec())
	}
}
