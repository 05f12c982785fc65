// Package pcltest reads the language in which tests of PCL are written: files that say which program is started, how it is
// driven, which metrics are read at which foci meanwhile, and what must come out. docs/pcl-reference.md describes the language;
// `culprit pcl test` runs such files.
//
// It reads text only: it starts nothing and measures nothing. It imports grid and pcl/syntax. All functions are pure, any
// goroutine may call them, and what Parse returns is not changed afterwards.
//
// Text is not trusted: its size, its statements, words, expressions and errors are bounded. The grammar, line by line; a line
// that begins with a blank belongs to the body of the statement above it, # begins a comment:
//
//	file      = { statement } { "test" name.. { statement } } .       what stands before the first test is for each of them
//	statement = "needs" NAME [ GLOB ] | "compile" FILE { FLAG } [ body ] | "file" NAME body
//	          | "pcl" ( body | FILE | "error" TEXT body )
//	          | "start" [ "as" NAME ] word { word } | "run" word { word } | "say" [ "to" NAME ] TEXT
//	          | "await" what [ "within" TIME ] | "take" NAME REGEXP | "sleep" TIME
//	          | "measure" [ NAME | $VAR ] [ "children" ] | "enable" pair | "disable" pair | "search" [ "for" TIME ] | "stop"
//	          | "expect" pair [ view ] ( relation [ "as" NAME ] | "error" TEXT ) | "check" expr relation
//	          | "expect" "hypothesis" NAME [ "at" FOCUS ] ( "true" | "false" | "tested" | "untested" ) .
//	what      = [ NAME ] "line" REGEXP | [ NAME ] "end" [ STATUS ] | "file" PATH | "socket" PATH | "port" NUMBER | "run" word { word } .
//	pair      = METRIC [ "at" FOCUS ] .
//	view      = "sum" | "average" | "min" | "max" | "last" | "count" | "mean" | "p" NUMBER .
//	relation  = "is" expr [ "within" expr [ "%" ] ] | ( "<" | "<=" | ">" | ">=" ) expr .
//	expr      = NUMBER | $VAR | "(" expr ")" | "-" expr | expr ( "+" | "-" | "*" | "/" ) expr .
//
// Words end at blanks. 'text' is taken as it is; in "text" and outside of quotes $name and ${name} stand for values. Regular
// expressions are RE2 and have no $names.
package pcltest
