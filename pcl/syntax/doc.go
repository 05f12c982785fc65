// Package syntax reads and writes the text of PCL, the language of metrics, constraints and hypotheses: lexer, tree,
// recursive descent parser and printer. It knows nothing of what the text means; names and types are checked in pcl.
//
// It imports nothing of the house. All functions are pure: any goroutine may call them, trees are not changed once
// Parse has returned them.
//
// Text is not trusted: its size, its nesting, the length of one expression and the number of errors reported are bounded.
//
// The grammar; { } repeats, [ ] is optional. Strings have no escapes and end on their line, // begins a comment, booleans
// may be in any case, and the ";" behind a closing brace may be left out.
//
//	file       = { definition } .
//	definition = ("daemon" | "process" | "visi") IDENT "{" { KEY value ";" } "}"
//	           | "tunable_constant" ( tunable | "{" { tunable } "}" ) | exclude | list | metric | constraint
//	           | hypothesis | hierarchy | trace | expect .
//	tunable    = STR ( INT | FLOAT | BOOL ) ";" .
//	exclude    = "exclude" [ "noCase" ] [ "regex" ] STR ";" .
//	list       = "resourceList" IDENT "is" ( "procedure" | "module" | "string" | "int" | "float" )
//	             "{" "items" "{" item { "," item } "}" ";" [ "flavor" words ] [ "library" BOOL ";" ] "}" .
//	item       = STR | INT | FLOAT | "glob" STR | "regex" STR .
//	words      = "{" IDENT { "," IDENT } "}" ";" .
//	metric     = "metric" IDENT "{" { mItem } "}" .
//	mItem      = "name" STR ";" | "units" ( IDENT | STR ) ";" | "unitsType" ( "normalized" | "unnormalized" | "sampled" ) ";"
//	           | "aggregateOperator" ( "sum" | "min" | "max" | "avg" ) ";" | "style" ( "EventCounter" | "SampledFunction" ) ";"
//	           | "flavor" words | "mode" ( "developer" | "normal" ) ";" | "counter" IDENT ";"
//	           | "doc" STR ";"                              what is counted, where, in which unit, and what is not seen
//	           | "parked" ( "excluded" | "counted" ) ";"    whether the time of idle threads counts; it does by default
//	           | "samples" ( "io" | "sync" | "running" ) ";" told by looks at threads that wait, for a device or a peer, or for another thread, or by samples of threads that run; never by probes
//	           | "constraint" IDENT ";" | constraint | "base" "is" kind [ "by" IDENT ] body .
//	constraint = "constraint" IDENT path "is" ( ( "default" | "key" ) ";" | "counter" body | "replace" kind body ) .
//	path       = "/" ( IDENT | "*" ) { "/" ( IDENT | "*" ) } .
//	kind       = "counter" | "gauge" | "wallTimer" | "processTimer" | "void" | ( "hwCounter" | "hwTimer" | "kernel" ) "(" STR ")"
//	           | "histogram" "(" ( "counter" | "wallTimer" | "processTimer" ) ")" .
//	body       = block | ";" .                              ";" for kernel, hwCounter and void only
//	block      = "{" { stmt } "}" .
//	stmt       = block | "foreach" IDENT "in" expr stmt | "if" "(" expr ")" stmt
//	           | ( "append" | "prepend" ) ( "preInsn" | "postInsn" ) expr [ "constrained" ] "(*" { code } "*)" .
//	code       = [ "if" "(" expr ")" ] expr ";" .
//	hypothesis = "hypothesis" IDENT "{" { "parent" IDENT ";" | "at" ( "whole" | "object" ) ";" | "explained" BOOL ";" | "test" expr ";" | "given" expr ";" | "stake" expr ";" | "whole" expr ";" | "used" expr ";" | "units" IDENT ";" | "refine" words | "suppress" "{" STR { ";" STR } "}"
//	           | "expand" ( "why" | "where" | "whyAndWhere" ) ";" | "label" STR ";" | "explain" STR ";" } "}" .
//	hierarchy  = "hierarchy" IDENT "{" { "item" STR "is" "{" STR { "," STR } "}" ";" } "}" .
//	trace      = "trace" IDENT "{" "at" expr ";" "record" "{" expr { "," expr } "}" ";" "}" .
//	expect     = "expect" IDENT "{" { [ "not" ] expr [ "at" STR ] ";" } "}" .
//	expr       = INT | FLOAT | STR | IDENT | IDENT "(" [ expr { "," expr } ] ")" | IDENT "@" STR | "(" expr ")"
//	           | expr "[" expr "]" | expr "." IDENT | expr "->" IDENT | expr "++" | "&" expr | "-" expr
//	           | expr ( "*" | "/" | "+" | "-" | "<" | "<=" | ">" | ">=" | "==" | "!=" | "&&" | "||" | "=" | "+=" | "-=" ) expr .
//
// Operators bind as in C; names may begin with "$".
package syntax
