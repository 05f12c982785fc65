package syntax

// statement reads a block, a foreach, an if, or one insertion.
func (p *parser) statement() *Stmt {
	s := &Stmt{Comments: Comments{Lead: p.lead()}, Pos: p.tok.pos}
	defer p.leave()
	if !p.enter() {
		return s
	}
	switch {
	case p.at('{'):
		p.block(s)
	case p.acceptWord("foreach"):
		s.Kind = Foreach
		s.Var = p.name("the name of the loop variable").text
		p.expectWord("in")
		s.Expr = p.expression()
		s.Body = p.statement()
		return s
	case p.acceptWord("if"):
		s.Kind = If
		s.Expr = p.condition()
		s.Body = p.statement()
		return s
	case p.isWord("append"), p.isWord("prepend"):
		p.insertion(s)
	default:
		p.expectedOneOf([]string{"append", "prepend", "foreach", "if", "{"})
	}
	s.Trail = p.trail()
	return s
}

func (p *parser) block(s *Stmt) {
	s.Kind = Block
	open := p.next()
	for p.err == nil && !p.at('}') && !p.at(eof) {
		s.Stmts = append(s.Stmts, p.statement())
	}
	s.Tail = p.lead()
	p.closing('}', `"append", "prepend", "foreach", "if" or "}"`, open)
}

func (p *parser) condition() *Expr {
	open := p.expect('(', `"("`)
	e := p.expression()
	p.closing(')', `")"`, open)
	return e
}

// insertion reads append|prepend preInsn|postInsn POINT [constrained] (* code *).
func (p *parser) insertion(s *Stmt) {
	s.Kind = Instr
	s.Prepend = p.next().text == "prepend"
	s.Post = p.expectWord("preInsn", "postInsn") == "postInsn"
	s.Expr = p.expression()
	s.ConstrainedPos = p.tok.pos
	s.Constrained = p.acceptWord("constrained")
	open := p.expect(codeOpen, `"constrained" or "(*"`)
	for p.err == nil && !p.at(codeClose) && !p.at(eof) {
		s.Code = append(s.Code, p.code())
	}
	s.Tail = p.lead()
	p.closing(codeClose, `"*)"`, open)
}

func (p *parser) code() *Code {
	c := &Code{Comments: Comments{Lead: p.lead()}, Pos: p.tok.pos}
	if p.acceptWord("if") {
		c.Cond = p.condition()
	}
	p.foreignCode()
	c.Expr = p.expression()
	p.expect(';', `";"`)
	c.Trail = p.trail()
	return c
}
