package pcl

import "culprit/grid"

// A FuncID names a function of the target. Its meaning belongs to the Env that handed it out; 0 is no function.
type FuncID uint64

// A CallSite is one call instruction inside a function.
type CallSite struct {
	Caller FuncID
	Index  int    // number within the caller, in order of address
	Callee FuncID // 0 where the call is indirect or its target is unknown
}

// A CodePoint is an instruction inside a function.
type CodePoint struct {
	Func   FuncID
	Offset int // bytes from the entry; negative in a part that lies before it
}

// An Env is what the compiler asks about a target. Answers must not change during one Compile.
type Env interface {
	Names
	Code
	Arguments
	Objects
	// Machine is $machine.
	Machine() string
	// Flavors that this target has: "c", "cxx", "unix", ...
	Flavors() []string
}

// Names tells which functions and modules of a target a name or a pattern stands for.
type Names interface {
	// Named returns the functions with this exact (demangled or linkage) name; nil if the target has none.
	Named(name string) []FuncID
	// Meant returns the functions that somebody means by a name: those of Named, else all overloads and instances of a name without
	// parameters, with scopes left out where one only is meant, else those that it matches as a glob. The error is *NoFunction.
	Meant(name string) ([]FuncID, error)
	// Matching returns the functions whose name matches; glob unless regex.
	Matching(pattern string, regex bool) []FuncID
	// Function resolves /Code/<module>/<function>; more than one where code is folded or split by name.
	Function(module, function string) []FuncID
	// ModuleFunctions returns the functions of /Code/<module>.
	ModuleFunctions(module string) []FuncID
	// Modules lists the modules (excluded ones left out).
	Modules() []string
	// FuncName and FuncModule describe a function.
	FuncName(FuncID) string
	FuncModule(FuncID) string
	// Start and Exit are $start and $exit: main and the thread roots; exit, _exit, pthread_exit.
	Start() []FuncID
	Exit() []FuncID
}

// Code tells what is inside functions: calls, loops and source lines.
type Code interface {
	// CallSites lists the calls of a function in order of address.
	CallSites(FuncID) []CallSite
	// Loop resolves /Code/<module>/<function>/<loop> for a function of that name; ok is false if it has no such loop.
	Loop(f FuncID, name string) (number int, ok bool)
	// Line returns where the code of a source line begins: in every function that has some.
	Line(file string, line int) []CodePoint
}

// Arguments tells where what functions are given and what they return is found, and which functions a probe may call.
type Arguments interface {
	// Arg says where to find what an argument of a function leads to, at its entry. The error is *NoTypes, *NoSuchName, or says
	// why it cannot be read.
	Arg(f FuncID, path ArgPath) (ArgPlace, error)
	// OwnTypes reports whether the file that has the function holds DWARF itself. To read it from a file of debug symbols takes a second.
	OwnTypes(f FuncID) bool
	// Result says which bytes of the register of whole numbers are what a function returns. The error is *NoTypes, *NoValue (it is no
	// whole number and no pointer), or says why that is not known.
	Result(f FuncID) (ArgLoad, error)
	// Callable returns the function of this name that a probe may call; the error says why there is none.
	Callable(name string) (FuncID, error)
}

// Objects tells what resources other than code are in a target.
type Objects interface {
	// Object resolves a resource other than code to the integer that $constraint[i] stands for: the address of a
	// mutex, the number of an open file, which is what ExFile gives for each of its descriptors.
	Object(h grid.Hierarchy, elems []string) (uint64, error)
	// OpenedAs lists the texts by which the target may open a resource of /IO: its path, and what that is from where the target
	// is; nil if it is not opened by a name, or nothing that a pointer leads to may be read.
	OpenedAs(elems []string) []string
}
