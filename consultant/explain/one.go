package explain

import "regexp"

// counted is what labels count, behind the placeholder of the number.
var counted = regexp.MustCompile(`\{value\} (?:byte|call|operation|message|wait|fault|page fault|read|write|request|connection|time|item|lock|thread|processe)s\b`)

// one writes the noun behind the value of a label for a value of 1: "1 byte", not "1 bytes".
func one(label string) string {
	return counted.ReplaceAllStringFunc(label, func(s string) string {
		if s == "{value} processes" {
			return "{value} process"
		}
		return s[:len(s)-1]
	})
}
