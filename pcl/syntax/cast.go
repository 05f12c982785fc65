package syntax

import "strings"

// typeWords are the words of which names of types consist, as C has them. They may name variables too: only (TYPE) in front of an
// operand is a cast.
var typeWords = map[string]bool{"char": true, "short": true, "int": true, "long": true, "signed": true, "unsigned": true, "bool": true, "_Bool": true,
	"float": true, "double": true, "int8_t": true, "int16_t": true, "int32_t": true, "int64_t": true, "uint8_t": true, "uint16_t": true,
	"uint32_t": true, "uint64_t": true, "size_t": true, "ssize_t": true, "intptr_t": true, "uintptr_t": true}

// castType reads "(unsigned int)" if an operand follows, and nothing otherwise. A minus or an & behind the parenthesis belongs to the operand.
func (p *parser) castType() (name string, pos Pos, ok bool) {
	before := *p
	pos = p.next().pos
	var words []string
	for p.at(word) && typeWords[p.tok.text] {
		words = append(words, p.next().text)
	}
	if len(words) > 0 && p.accept(')') {
		switch p.tok.kind {
		case word, text, integer, float, '(', '-', '&':
			return strings.Join(words, " "), pos, true
		}
	}
	*p = before
	return "", pos, false
}

// cast reads the operand of a cast.
func (p *parser) cast(name string, pos Pos) *Expr {
	defer p.leave()
	if !p.enter() {
		return nil
	}
	e := p.newExpr(Cast, pos)
	e.Text, e.X = name, p.unary()
	return e
}
