package grid

import "strings"

// How names of resources are written in a focus. Usual names stand as they are. An escape is '%', then n times "25",
// then a two-digit code; it stands for the character itself if n is 0, else for the same text with one "25" less. So a
// '%' needs escaping only where what follows reads like an escape, and every text has exactly one canonical form.
//
//	2F  '/' inside a name
//	2C  ',' where it would end the part: at the end of a name, or in a path before a hierarchy
//	00  the empty name
//
// Lower-case codes are read too.

// encodeName writes a name that is one element among others.
func encodeName(name string) string {
	if name == "" {
		return "%00"
	}
	if isEscapeFor(name, "00") {
		return "%25" + name[1:]
	}
	return encodeTrailingComma(encodeSlashes(name))
}

// decodeName is the inverse of encodeName.
func decodeName(text string) string {
	if isEscapeFor(text, "00") {
		if text == "%00" {
			return ""
		}
		return "%" + text[3:]
	}
	return decodeSlashes(decodeTrailingComma(text))
}

// isEscapeFor reports whether the whole text is one escape with the code.
func isEscapeFor(text, code string) bool {
	n := escapeLen(text, code)
	return n > 0 && n == len(text)
}

// escapeLen returns the length of the escape with the code that text starts with, 0 if it starts with none.
func escapeLen(text, code string) int {
	if len(text) < 3 || text[0] != '%' {
		return 0
	}
	i := 1
	for strings.HasPrefix(text[i:], "25") {
		i += 2
	}
	if len(text)-i < 2 || !strings.EqualFold(text[i:i+2], code) {
		return 0
	}
	return i + 2
}

func encodeSlashes(s string) string {
	if !strings.ContainsAny(s, "/%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '/':
			b.WriteString("%2F")
		case escapeLen(s[i:], "2F") > 0:
			b.WriteString("%25")
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func decodeSlashes(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		n := escapeLen(s[i:], "2F")
		switch {
		case n == 0:
			b.WriteByte(s[i])
			i++
		case n == 3:
			b.WriteByte('/')
			i += 3
		default:
			b.WriteByte('%')
			b.WriteString(s[i+3 : i+n])
			i += n
		}
	}
	return b.String()
}

// encodeTrailingComma escapes a comma that ends the name; spaces may follow it.
func encodeTrailingComma(s string) string {
	body := strings.TrimRight(s, " ")
	spaces := s[len(body):]
	if strings.HasSuffix(body, ",") {
		return body[:len(body)-1] + "%2C" + spaces
	}
	if i := strings.LastIndexByte(body, '%'); i >= 0 && isEscapeFor(body[i:], "2C") {
		return body[:i] + "%25" + body[i+1:] + spaces
	}
	return s
}

func decodeTrailingComma(s string) string {
	body := strings.TrimRight(s, " ")
	spaces := s[len(body):]
	i := strings.LastIndexByte(body, '%')
	if i < 0 || !isEscapeFor(body[i:], "2C") {
		return s
	}
	if len(body)-i == 3 {
		return body[:i] + "," + spaces
	}
	return body[:i] + "%" + body[i+3:] + spaces
}

// encodePath writes a name that is the rest of its part, such as a file path: slashes stand as they are, and only a
// comma before something that reads like the next part is escaped.
func encodePath(name string) string {
	if name == "" {
		return "%00"
	}
	if isEscapeFor(name, "00") {
		return "%25" + name[1:]
	}
	if !strings.ContainsAny(name, ",%") {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		switch n := escapeLen(name[i:], "2C"); {
		case name[i] == ',' && startsPart(name[i+1:]):
			b.WriteString("%2C")
		case n > 0 && startsPart(name[i+n:]):
			b.WriteString("%25")
		default:
			b.WriteByte(name[i])
		}
	}
	return b.String()
}

// decodePath is the inverse of encodePath.
func decodePath(text string) string {
	if isEscapeFor(text, "00") {
		return decodeName(text)
	}
	if !strings.Contains(text, "%") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		n := escapeLen(text[i:], "2C")
		switch {
		case n == 0 || !startsPart(text[i+n:]):
			b.WriteByte(text[i])
			i++
		case n == 3:
			b.WriteByte(',')
			i += 3
		default:
			b.WriteByte('%')
			b.WriteString(text[i+3 : i+n])
			i += n
		}
	}
	return b.String()
}

// startsPart reports whether text reads like the start of a part: spaces, then "/" and the name of a hierarchy.
func startsPart(text string) bool {
	text = strings.TrimLeft(text, " ")
	if !strings.HasPrefix(text, "/") {
		return false
	}
	for _, name := range hierarchyNames {
		if strings.HasPrefix(text[1:], name) {
			return true
		}
	}
	return false
}
