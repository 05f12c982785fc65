// Package peer has the cases that the test suite of Dyninst, an older instrumenter of running programs, asks of itself, by
// the names they have there, asked of culprit. It holds tests only, and drives package daemon with metrics written in PCL.
//
// What each case is for was taken from there; programs, metrics and checks are our own. Where that suite changes what a
// program does (calls its functions, writes its variables, replaces its code), which culprit never does, a case asks the
// nearest thing that a measurement does instead, and its comment says so. Beside what a case is about, each one asks that the
// program computes what it computes when nobody looks, that its text is as in its file afterwards, and that it ends well.
package peer

//test:alone

import (
	"flag"
	"testing"
)

var long = flag.Bool("long", false, "run the long forms: more calls, more rounds")

// rounds is how often a case repeats: quick in the ordinary run, with -long as often as it takes to be sure.
func rounds(quick, sure int) int {
	if *long {
		return sure
	}
	return quick
}

// cases are all of them, by the name that they have in that suite.
var cases = []struct {
	name string
	run  func(*testing.T)
}{
	{"test1_1", callWithoutArguments},
	{"test1_2", callWithFourArguments},
	{"test1_3", passVariables},
	{"test1_4", sequence},
	{"test1_5", ifWithoutElse},
	{"test1_6", arithmeticOperators},
	{"test1_7", relationalOperators},
	{"test1_8", registersAroundExpressions},
	{"test1_9", registersAroundHeavyCode},
	{"test1_10", orderOfSnippets},
	{"test1_11", entryExitAndCall},
	{"test1_12", insertRemoveAndMemory},
	{"test1_13", argumentsResultsAndNothing},
	{"test1_14", callsOnAndOff},
	{"test1_15", repetitionAndAllOff},
	{"test1_16", ifElse},
	{"test1_17", returnValues},
	{"test1_18", readWhileItRuns},
	{"test1_19", oneTimeCode},
	{"test1_20", arbitraryPoints},
	{"test1_31", guardedBaseTrampoline},
	{"test1_32", recursiveBaseTrampoline},
	{"test1_37", loops},
	{"test1_40", calleesOfDynamicCalls},
	{"test4_1", exitOfAProcess},
	{"test4_2", forkOfAProcess},
	{"test4_3", execOfAProcess},
	{"test4_4", forkAndExec},
	{"test_fork_5", deleteInParent},
	{"test_fork_6", deleteInChild},
	{"test_fork_7", deleteInBoth},
	{"test_fork_8", insertInChildOnly},
	{"test_fork_9", addToBoth},
	{"test_stack_1", stackOfAThread},
	{"test_stack_2", stackInASignalHandler},
	{"test_stack_3", stackThroughInstrumentation},
	{"test_stack_4", stackThroughAnInstrumentedHandler},
	{"test_thread_1", oneCounterManyThreads},
	{"test_thread_2", threadsAreSeen},
	{"test_thread_7", guardsOfManyThreads},
	{"test_reloc", everyFunctionMoves},
	{"test_snip_remove", someOfOnePoint},
	{"test_pt_ls", everyFunctionOfLs},
	{"exception", exceptionThroughInstrumentedFrames},
}

// TestPeer runs each case, which fails by itself and says its figures.
func TestPeer(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}
