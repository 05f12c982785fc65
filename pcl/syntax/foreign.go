package syntax

import (
	"regexp"
	"slices"
	"strings"
)

// What people write who know other languages, and what PCL has instead. An error names what was found and what was expected; where
// that is known to be a habit of C, C++, Rust or a shell, it says behind it what to write.

// foreignSigns are signs at which the parser stops, by how the text goes on there; longer ones come first.
var foreignSigns = []struct{ sign, advice string }{
	{"#", `comments begin with //`},
	{"/*", `comments begin with // on each of their lines`},
	{"::", `a name with :: stands in a string: $function("ns::name")`},
	{":", `a value stands behind its name without a sign: name "x";`},
	{"%", `there is no remainder: write x - x / n * n for x % n`},
	{"|", `there are no operators on bits, and || is "or"`},
	{"^", `there are no operators on bits`},
	{"~", `there are no operators on bits: write -x - 1 for ~x; the name of a destructor stands in a string: $function("Shop::~Shop")`},
	{"&", `there are no operators on bits, and && is "and"; write x - x / 8 * 8 for x & 7`},
	{"!", `write x == 0 for !x`},
	{"?", `there is no ?: ; write if (CONDITION) before a piece of code`},
	{"'", `strings stand in double quotes, and a character is its number: 65 for 'A'`},
	{"`", `strings stand in double quotes`},
	{`\`, `a string has no escapes, and a definition may go on for many lines`},
	{"=", `a value stands behind its name without a sign: name "x";`},
	{"++", `write x++ for ++x`},
	{"[", `there are no functions without a name, and no lists in brackets`},
}

// declaring are words that begin the declaration of a variable elsewhere.
var declaring = []string{"int", "long", "unsigned", "signed", "short", "char", "bool", "float", "double", "auto", "const", "static", "let", "var",
	"mut", "size_t", "ssize_t", "int32_t", "int64_t", "uint32_t", "uint64_t", "u8", "u32", "u64", "i32", "i64", "usize", "isize"}

// otherwise are words behind which the other branch of a condition stands elsewhere.
var otherwise = []string{"else", "elif", "elsif"}

// looping are words that begin a statement of code elsewhere, and that PCL does not have.
var looping = []string{"while", "for", "do", "switch", "match", "loop", "return", "break", "continue", "goto", "try", "throw", "foreach"}

// advice says what to write instead of what stands at the token where the parser stops: " (..)", or "".
func (p *parser) advice() string {
	if a := p.adviceBefore(); a != "" {
		return " (" + a + ")"
	}
	rest := p.tok.pos.File.Text[p.tok.pos.Off:]
	if p.tok.kind == eof || p.tok.kind == text {
		return ""
	}
	if p.tok.kind == bad && isDigit(rest[0]) {
		return " (a number has no exponent and no unit: 0.001 for 1e-3)"
	}
	for _, f := range foreignSigns {
		if strings.HasPrefix(rest, f.sign) {
			return " (" + f.advice + ")"
		}
	}
	return ""
}

// lookedAt is how many bytes in front of a token are looked at for advice.
const lookedAt = 200

// adviceBefore judges by what stands before the token as well.
func (p *parser) adviceBefore() string {
	text := p.tok.pos.File.Text
	before := strings.TrimRight(text[max(0, p.tok.pos.Off-lookedAt):p.tok.pos.Off], " \t\r\n")
	rest := text[p.tok.pos.Off:]
	closes := p.tok.kind != word && p.tok.kind != integer && p.tok.kind != eof
	switch {
	case !closes:
	case strings.HasSuffix(before, "--"):
		return "write x -= 1 for x--"
	case strings.HasPrefix(rest, "<") && strings.HasSuffix(before, "<"):
		return "there are no operators on bits: write x * 8 for x << 3"
	case strings.HasPrefix(rest, ">") && strings.HasSuffix(before, ">"):
		return "there are no operators on bits: write x / 8 for x >> 3"
	case strings.HasSuffix(before, ">") && !strings.HasSuffix(before, "->"):
		return `a name with < > stands in a string: $function("name<int>")`
	case p.tok.kind == '*':
		return "what a pointer leads to is a field of it: $arg[0]->field"
	case strings.HasPrefix(rest, "!") && !strings.HasPrefix(rest, "!=") && endsInWord(before):
		return "there are no macros"
	case p.tok.kind == '&' && strings.HasSuffix(before, "."):
		return "an argument is named without a sign: $arg.self"
	case operatorName.MatchString(before):
		return `the name of an operator stands in a string: $function("operator+")`
	case p.tok.kind == '(' && endsInField(before):
		return "methods cannot be called; a function of the program is called by its name: f($arg[0])"
	case p.tok.kind == '/' && endsInWord(before) && !strings.HasPrefix(rest, "/*"):
		return `what has other signs than letters, digits and _ stands in quotes: "s/s"`
	}
	return ""
}

var operatorName = regexp.MustCompile(`\boperator\W+$`)

func endsInWord(s string) bool { return s != "" && (isLetter(s[len(s)-1]) || isDigit(s[len(s)-1])) }

// endsInField reports whether a text ends in .name or ->name.
func endsInField(s string) bool {
	for endsInWord(s) {
		s = s[:len(s)-1]
	}
	return strings.HasSuffix(s, ".") || strings.HasSuffix(s, "->")
}

// foreignCode refuses what begins a statement of code elsewhere.
func (p *parser) foreignCode() {
	switch {
	case p.at('{'):
		p.expected("a piece of code; code has no blocks: put if (..) before each piece")
	case p.at(word) && slices.Contains(otherwise, p.tok.text):
		p.expected("a piece of code; code has no else: put if (..) before each piece")
	case p.at(word) && slices.Contains(looping, p.tok.text):
		p.expected("a piece of code such as x += 1; it has no loops and no jumps")
	case p.at(word) && slices.Contains(declaring, p.tok.text) && p.declares():
		p.expected("a piece of code: a variable is declared in the metric, as counter x;")
	}
}

// declares reports whether a name follows, as in "int x", "let mut x" and "char *x".
func (p *parser) declares() bool {
	rest := strings.TrimLeft(strings.TrimPrefix(p.tok.pos.File.Text[p.tok.pos.Off:], p.tok.text), " \t*&")
	return rest != "" && isLetter(rest[0])
}
