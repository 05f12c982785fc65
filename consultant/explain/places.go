package explain

import (
	"fmt"
	"strings"

	"culprit/grid"
	"culprit/internal/funcname"
	"culprit/internal/safetext"
	"culprit/internal/threadname"
)

const maxName = 200 // terminal cells of a name of the target in a sentence

// Printable makes a text of the target fit for a line: escaped and cut.
func Printable(s string) string { return safetext.CleanMax(s, maxName) }

// Focus is the focus as the user writes it.
func Focus(f grid.Focus) string {
	if f.IsWhole() {
		return "the whole program"
	}
	return Printable(f.String())
}

const wholeProgram = "the program"

// Function names the code of a focus: "lookup", "module cache.c", or "the program".
func Function(f grid.Focus) string {
	e := f.Elements(grid.Code)
	switch len(e) {
	case 0:
		return wholeProgram
	case 1:
		return "module " + Printable(e[0])
	case 2:
		return Printable(funcname.AsWritten(e[1]))
	}
	return "loop " + Printable(strings.Join(e[2:], "/")) + " of " + Printable(funcname.AsWritten(e[1]))
}

// Object names the lock, file or other object of a focus: "mutex cache_lock"; "" if the focus has none.
func Object(f grid.Focus) string {
	for _, h := range []grid.Hierarchy{grid.SyncObject, grid.IO, grid.Memory} {
		e := f.Elements(h)
		if len(e) == 0 {
			continue
		}
		kind := kindText(e[0])
		switch {
		case e[0] == fileLock && len(e) == 1:
			return "the locks of files"
		case e[0] == fileLock:
			return "the lock of file " + Printable(e[1])
		case len(e) == 1:
			return "any " + kind
		}
		name := Printable(strings.Join(e[1:], "/"))
		if e[0] == libraryLock { // its name says what it guards, and is not its own
			return "a " + kind + " (" + name + ")"
		}
		return kind + " " + name
	}
	return ""
}

// Kinds of locks whose names say what they guard.
const (
	libraryLock = "LibraryLock" // one that the C library has for itself
	fileLock    = "FileLock"
)

// kindText writes a kind of object as a word: Mutex as mutex, but RWLock, IO and the like as they are known.
func kindText(kind string) string {
	switch kind {
	case "RWLock":
		return "rwlock"
	case "CondVar":
		return "condition variable"
	case "SpinLock":
		return "spin lock"
	case "SemaphoreSet":
		return "semaphore of System V"
	case libraryLock:
		return "lock of the C library"
	case "WaitGroup":
		return "WaitGroup"
	}
	return strings.ToLower(Printable(kind))
}

// ObjectName is the name of the lock or file of a focus without its kind; "" if there is none.
func ObjectName(f grid.Focus) string {
	for _, h := range []grid.Hierarchy{grid.SyncObject, grid.IO} {
		if e := f.Elements(h); len(e) >= 2 {
			return e[len(e)-1]
		}
	}
	return ""
}

// Process names the process or thread of a focus; "" if it has none.
func Process(f grid.Focus) string {
	switch e := f.Elements(grid.Process); len(e) {
	case 0:
		return ""
	case 1:
		return "process " + Printable(e[0])
	default:
		return thread(e[0], e[1])
	}
}

// thread names a thread of a process, by its name where that tells something.
func thread(process, element string) string {
	t := threadname.Read(process+"/"+element, nil)
	switch {
	case t.TID == 0:
		return "thread " + Printable(element)
	case t.Main && t.Name != "":
		return "the main thread, " + Printable(t.Name) + ", of " + Printable(process)
	case t.Main:
		return "the main thread of " + Printable(process)
	}
	t.Process = "" // its number is unique
	return Printable(t.String())
}

// Item is the item of a focus in a sentence: "Subsystem parser"; "" if it selects none.
func Item(f grid.Focus) string {
	hierarchy, item, ok := f.Item()
	if !ok {
		return ""
	}
	return Printable(hierarchy) + " " + Printable(item)
}

// FunctionOf returns the function of a focus; "" if it names none.
func FunctionOf(f grid.Focus) string {
	if e := f.Elements(grid.Code); len(e) >= 2 {
		return e[1]
	}
	return ""
}

// Qualified is the function of a focus with its module, as "cache.c/lookup"; "" if it selects none.
func Qualified(f grid.Focus) string {
	if e := f.Elements(grid.Code); len(e) >= 2 {
		return e[0] + "/" + e[1]
	}
	return ""
}

// Nameless tells whether a function is called by its address, as in "[redis-server+0x1613d0]".
func Nameless(function string) bool { return strings.HasPrefix(function, "[") }

// SaysLittle tells whether the function of a focus says little of the program: it has no name, or is of the library of its language.
func SaysLittle(f grid.Focus) bool {
	e := f.Elements(grid.Code)
	return len(e) == 2 && (Nameless(e[1]) || funcname.OfLanguage(e[0], e[1]))
}

// PartOf is why a part of a false node is not tested; nothing says that too little happens in the whole to tell more.
func PartOf(id int, whole grid.Focus, nothing bool) string {
	if nothing {
		return fmt.Sprintf("too little happens in %s, which it is a part of (node %d)", Focus(whole), id)
	}
	return fmt.Sprintf("a part of %s, which is below the threshold (node %d)", Focus(whole), id)
}

// Unfinished is why there is no answer at the end of a search: of a node that was being tested, or of one that waited to be. ruledOut is when an earlier test
// ruled it out, in s; 0 if none did.
func Unfinished(testing bool, ruledOut float64) string {
	before := ""
	if ruledOut > 0 {
		before = "it was ruled out at " + Seconds(ruledOut) + "; "
	}
	switch {
	case testing:
		return before + "the search ended before enough was seen"
	case before != "":
		return before + "the search ended before it was tested again"
	}
	return "not tested: the search ended before"
}
