package syntax

import "strings"

// precedence of binary operators, as in C. Assignment is 1 and groups to the right; the others group to the left.
var precedence = map[string]int{
	"=": 1, "+=": 1, "-=": 1,
	"||": 2, "&&": 3, "==": 4, "!=": 4,
	"<": 5, ">": 5, "<=": 5, ">=": 5,
	"+": 6, "-": 6, "*": 7, "/": 7,
}

const (
	assignment = 1
	unary      = 8
	postfix    = 9
)

// expression reads a whole expression.
func (p *parser) expression() *Expr {
	p.size = 0
	return p.binary(assignment)
}

func (p *parser) newExpr(k ExprKind, pos Pos) *Expr {
	p.size++
	if p.size > maxExpr {
		p.failAt(pos, "found an expression of more than %d parts, expected a shorter one", maxExpr)
	}
	return &Expr{Kind: k, Pos: pos}
}

// binary reads operators of at least the given precedence.
func (p *parser) binary(least int) *Expr {
	left := p.unary()
	for p.err == nil {
		prec, ok := precedence[p.tok.text]
		if !ok || !p.isOperator() || prec < least {
			return left
		}
		op := p.next()
		e := p.newExpr(Binary, op.pos)
		e.Text, e.X = op.text, left
		if prec == assignment {
			e.Kind = Assign
			e.Y = p.nested(assignment)
		} else {
			e.Y = p.binary(prec + 1)
		}
		left = e
	}
	return left
}

// isOperator guards the table above against strings and words with the text of an operator.
func (p *parser) isOperator() bool {
	switch p.tok.kind {
	case word, text, integer, float, bad, eof:
		return false
	}
	return true
}

// nested reads an operand with one more level of nesting.
func (p *parser) nested(least int) *Expr {
	defer p.leave()
	if !p.enter() {
		return nil
	}
	return p.binary(least)
}

func (p *parser) unary() *Expr {
	if p.at('(') {
		if name, pos, ok := p.castType(); ok {
			return p.cast(name, pos)
		}
	}
	if !p.at('-') && !p.at('&') {
		return p.postfix()
	}
	defer p.leave()
	if !p.enter() {
		return nil
	}
	op := p.next()
	e := p.newExpr(Negate, op.pos)
	if op.kind == '&' {
		e.Kind = AddrOf
	}
	e.X = p.unary()
	return e
}

func (p *parser) postfix() *Expr {
	e := p.primary()
	for p.err == nil {
		pos := p.tok.pos
		switch p.tok.kind {
		case '[':
			open := p.next()
			e = p.wrap(Index, pos, e)
			e.Y = p.nested(assignment)
			p.closing(']', `"]"`, open)
		case '.', arrow:
			k := Field
			if p.next().kind == arrow {
				k = Deref
			}
			e = p.wrap(k, pos, e)
			e.Text = p.name("the name of a field").text
		case plusPlus:
			p.next()
			e = p.wrap(PostInc, pos, e)
		default:
			return e
		}
	}
	return e
}

func (p *parser) wrap(k ExprKind, pos Pos, x *Expr) *Expr {
	e := p.newExpr(k, pos)
	e.X = x
	return e
}

func (p *parser) primary() *Expr {
	t := p.tok
	e := p.newExpr(Ident, t.pos)
	e.Text = t.text
	switch t.kind {
	case integer:
		e.Kind, e.Int, e.Text = Number, p.integer(t), ""
		e.Float = float64(uint64(e.Int))
		p.next()
	case float:
		e.Kind, e.Float, e.IsFloat = Number, p.float(t), true
		p.next()
	case text:
		e.Kind = Literal
		p.next()
	case '(':
		open := p.next()
		e = p.nested(assignment)
		p.closing(')', `")"`, open)
	case word:
		p.next()
		p.afterName(e)
	default:
		p.expected("an expression")
	}
	return e
}

// afterName reads what makes a name a call or a metric at a focus.
func (p *parser) afterName(e *Expr) {
	switch {
	case p.accept('('):
		e.Kind = Call
		e.Args = p.arguments()
	case p.at('@') && !strings.HasPrefix(e.Text, "$"):
		p.next()
		e.Kind = At
		focus := p.newExpr(Literal, p.tok.pos)
		focus.Text = p.expect(text, `a focus as a string, such as "/"`).text
		e.X = focus
	}
}

func (p *parser) arguments() []*Expr {
	var args []*Expr
	if p.accept(')') {
		return nil
	}
	for p.err == nil {
		args = append(args, p.nested(assignment))
		if !p.accept(',') {
			break
		}
	}
	p.expect(')', `"," or ")"`)
	return args
}
