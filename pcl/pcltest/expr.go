package pcltest

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"culprit/pcl/syntax"
)

// An Expr is an expression over numbers and variables.
type Expr struct {
	Pos  syntax.Pos
	op   byte // '+', '-', '*', '/'; 'n' a negated operand, '$' a variable, '0' a number
	num  float64
	name string
	l, r *Expr
}

// errZero is what a division by nothing gives.
var errZero = errors.New("a division by 0")

// Eval is the value. The error is that of a variable, or says that a number is divided by 0.
func (e *Expr) Eval(value func(name string) (float64, error)) (float64, error) {
	switch e.op {
	case '0':
		return e.num, nil
	case '$':
		return value(e.name)
	}
	l, err := e.l.Eval(value)
	if err != nil || e.op == 'n' {
		return -l, err
	}
	r, err := e.r.Eval(value)
	if err != nil {
		return 0, err
	}
	switch e.op {
	case '+':
		return l + r, nil
	case '-':
		return l - r, nil
	case '*':
		return l * r, nil
	}
	if r == 0 {
		return 0, errZero
	}
	return l / r, nil
}

// An exprParser reads an expression out of a part of a line.
type exprParser struct {
	line  *line
	i, to int // in the line's text
	depth int
	size  int
	err   *syntax.Error
}

// expression reads line.text[from:to], all of it.
func (l *line) expression(from, to int) (*Expr, *syntax.Error) {
	p := &exprParser{line: l, i: from, to: to}
	e := p.sum()
	if p.peek() != 0 {
		p.fail("an operator (+ - * /) or the end of the line")
	}
	return e, p.err
}

// peek is the next byte that is not blank, 0 at the end.
func (p *exprParser) peek() byte {
	for p.i < p.to && blank(p.line.text[p.i]) {
		p.i++
	}
	if p.i >= p.to || p.err != nil {
		return 0
	}
	return p.line.text[p.i]
}

func (p *exprParser) fail(expected string) {
	if p.err != nil {
		return
	}
	found := "the end"
	if p.i < p.to {
		found = fmt.Sprintf("%q", firstRune(p.line.text[p.i:p.to]))
	}
	p.err = &syntax.Error{Pos: p.line.at(p.i), Msg: fmt.Sprintf("found %s, expected %s", found, expected)}
}

func (p *exprParser) sum() *Expr { return p.chain("+-", p.product) }

func (p *exprParser) product() *Expr { return p.chain("*/", p.operand) }

// chain reads operands joined by the operators, from the left.
func (p *exprParser) chain(ops string, operand func() *Expr) *Expr {
	e := operand()
	for {
		c := p.peek()
		if c != ops[0] && c != ops[1] {
			return e
		}
		pos := p.line.at(p.i)
		p.i++
		e = p.grow(&Expr{Pos: pos, op: c, l: e, r: operand()})
	}
}

// grow counts what was read.
func (p *exprParser) grow(e *Expr) *Expr {
	if p.size++; p.size > maxExpr && p.err == nil {
		p.err = &syntax.Error{Pos: e.Pos, Msg: fmt.Sprintf("the expression has more than %d parts", maxExpr)}
	}
	return e
}

func (p *exprParser) operand() *Expr {
	if p.depth++; p.depth > maxDepth {
		p.fail("less nesting")
	}
	defer func() { p.depth-- }()
	c := p.peek()
	pos := p.line.at(p.i)
	switch {
	case c == '-':
		p.i++
		return p.grow(&Expr{Pos: pos, op: 'n', l: p.operand()})
	case c == '(':
		return p.group()
	case c == '$':
		return p.variable(pos)
	}
	return p.number(pos)
}

func (p *exprParser) group() *Expr {
	p.i++
	e := p.sum()
	if p.peek() != ')' {
		p.fail(`")"`)
		return e
	}
	p.i++
	return e
}

func (p *exprParser) variable(pos syntax.Pos) *Expr {
	name := identifier(p.line.text[p.i+1 : p.to])
	if name == "" {
		p.fail("$ with a name behind it")
	}
	p.i += 1 + len(name)
	return p.grow(&Expr{Pos: pos, op: '$', name: name})
}

// number reads a number as strconv does: 12, 0.5, 1e6, 0x10.
func (p *exprParser) number(pos syntax.Pos) *Expr {
	n := p.i
	for n < p.to && numeric(p.line.text, n, p.i) {
		n++
	}
	v, err := parseNumber(p.line.text[p.i:n])
	if err != nil {
		p.fail("a number, $name or (")
		return &Expr{Pos: pos, op: '0'}
	}
	p.i = n
	return p.grow(&Expr{Pos: pos, op: '0', num: v})
}

// numeric reports whether the byte at n may belong to a number that began at from.
func numeric(s string, n, from int) bool {
	c := s[n]
	exponent := n > from && (s[n-1] == 'e' || s[n-1] == 'E') && (c == '+' || c == '-')
	return exponent || '0' <= c && c <= '9' || c == '.' || n > from && (letter(c))
}

// parseNumber reads a number that is neither infinite nor none.
func parseNumber(s string) (float64, error) {
	if n, err := strconv.ParseUint(s, 0, 64); err == nil {
		return float64(n), nil
	}
	v, err := strconv.ParseFloat(s, 64)
	if err == nil && (math.IsInf(v, 0) || math.IsNaN(v)) {
		err = strconv.ErrRange
	}
	return v, err
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}
