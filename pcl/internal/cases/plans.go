package cases

import "strings"

// byLock tells apart by the address of a lock.
const byLock = `metric m { name "m"; ` + Head + ` counter lock; constraint procedureInclusive; constraint oneLock /SyncObject/Mutex is key;
	constraint r /Code is replace counter { }
	base is counter by lock { append preInsn $start.entry (* lock = $arg[0]; *) append preInsn $start.entry constrained (* m++; *) } }`

// byTwo has a second key for the same lock.
var byTwo = strings.Replace(byLock, "constraint r", "constraint anyLock /SyncObject/* is key; constraint r", 1)

// Plans are cases: PCL on top of the default library, a pair, and the plan or a part of the error.
var Plans = []struct{ Name, Text, Pair, Want string }{
	{"kernel", "", "cpu_inclusive@/Process/a{7}/thr_8", `
cpu_inclusive@/Process/a{7}/thr_8: kernel("cpu_time"), process "a{7}", thread "thr_8"
`},
	{"machine", "", "cpu@/Machine/node1", `
cpu@/Machine/node1: kernel("cpu_time")
`},
	{"replacement by activations", "", "cpu_inclusive@/Code/work.c/work", `
cpu_inclusive@/Code/work.c/work: processTimer
  processTimer cpuInclusive
  append preInsn 10.entry { timerEnter cpuInclusive }
  prepend preInsn 10.return { timerLeave cpuInclusive }
`},
	{"replacement with call sites", "", "cpu@/Code/main.c/helper", `
cpu@/Code/main.c/helper: processTimer
  processTimer cpu
  append preInsn 2.entry { timerStart cpu }
  prepend preInsn 2.return { timerStop cpu }
  append preInsn 2.call[0] { timerStop cpu }
  prepend postInsn 2.call[0] { timerStart cpu }
  append preInsn 2.call[1] { timerStop cpu }
  prepend postInsn 2.call[1] { timerStart cpu }
`},
	{"module", "", "procedure_calls@/Code/work.c", `
procedure_calls@/Code/work.c: counter
  counter procedureCalls
  append preInsn 10.entry { procedureCalls += 1 }
  append preInsn 11.entry { procedureCalls += 1 }
`},
	{"all procedures without the excluded", `exclude "/Code/libc*"; exclude nocase_not_there;`, "procedure_calls", "problem"},
	{"excluded functions", `exclude "/Code/libc*"; exclude noCase regex "/Code/work.c/LE.*";`, "procedure_calls", `
procedure_calls@/: counter
  counter procedureCalls
  append preInsn 1.entry { procedureCalls += 1 }
  append preInsn 2.entry { procedureCalls += 1 }
  append preInsn 10.entry { procedureCalls += 1 }
`},
	{"excluded focus", `exclude "/Code/libc*";`, "procedure_calls@/Code/libc.so.6/write", "this code is excluded by the statement at -e[1]:1:9"},
	{"base of a list", "", "sync_wait", `
sync_wait@/: wallTimer, parked excluded
  wallTimer syncWait
  append preInsn 20.entry { timerEnter syncWait }
  prepend preInsn 20.return { timerLeave syncWait }
  append preInsn 21.entry { timerEnter syncWait }
  prepend preInsn 21.return { timerLeave syncWait }
`},
	{"exclusive flag leaves the list's own functions out", "", "sync_wait@/Code/work.c/work", `
sync_wait@/Code/work.c/work: wallTimer, parked excluded
  wallTimer syncWait
  counter procedureExclusive
  append preInsn 10.entry { procedureExclusive = 1 }
  prepend preInsn 10.return { procedureExclusive = 0 }
  append preInsn 10.call[0] { procedureExclusive = 0 }
  prepend postInsn 10.call[0] { procedureExclusive = 1 }
  append preInsn 10.call[1] { procedureExclusive = 0 }
  prepend postInsn 10.call[1] { procedureExclusive = 1 }
  append preInsn 10.call[3] { procedureExclusive = 0 }
  prepend postInsn 10.call[3] { procedureExclusive = 1 }
  append preInsn 20.entry if procedureExclusive { timerEnter syncWait }
  prepend preInsn 20.return { timerLeave syncWait }
  append preInsn 21.entry if procedureExclusive { timerEnter syncWait }
  prepend preInsn 21.return { timerLeave syncWait }
`},
	{"two flags, code first", "", "sync_wait_inclusive@/SyncObject/Mutex/cache_lock,/Code/work.c/work", `
sync_wait_inclusive@/Code/work.c/work,/SyncObject/Mutex/cache_lock: wallTimer, parked excluded
  wallTimer syncWaitInclusive
  counter procedureInclusive
  counter oneMutex
  append preInsn 10.entry { enter procedureInclusive }
  prepend preInsn 10.return { leave procedureInclusive }
  prepend preInsn 20.entry { if ($arg[0] == 5) enter oneMutex }
  append preInsn 20.return { leave oneMutex }
  append preInsn 20.entry if procedureInclusive and oneMutex { timerEnter syncWaitInclusive }
  prepend preInsn 20.return { timerLeave syncWaitInclusive }
  append preInsn 21.entry if procedureInclusive and oneMutex { timerEnter syncWaitInclusive }
  prepend preInsn 21.return { timerLeave syncWaitInclusive }
`},
	{"type of object", "", "sync_ops@/SyncObject/Semaphore", `
sync_ops@/SyncObject/Semaphore: counter
  counter syncOps
  counter syncType
  prepend preInsn 21.entry { enter syncType }
  append preInsn 21.return { leave syncType }
  append preInsn 20.entry if syncType { syncOps += 1 }
  append preInsn 21.entry if syncType { syncOps += 1 }
`},
	{"aliases count once, results guarded", "", "io_bytes@/IO/File//tmp/x", `
io_bytes@/IO/File//tmp/x: counter
  counter ioBytes
  counter oneFile
  counter $opened
  counter $spawning
  prepend preInsn 30.entry { if (file($arg[0]) == 3) enter oneFile }
  append preInsn 30.return { leave oneFile }
  prepend preInsn 31.entry { if (file($arg[0]) == 3) enter oneFile }
  append preInsn 31.return { leave oneFile }
  prepend preInsn 30.return if oneFile { if ($return > 0) ioBytes += $return }
  prepend preInsn 31.return if oneFile { if ($return > 0) ioBytes += $return }
`},
	{"default constraint", "", "blocked@/Code/work.c/work,/SyncObject/Mutex/cache_lock", `
blocked@/Code/work.c/work,/SyncObject/Mutex/cache_lock: kernel("blocked_time"), parked excluded
`},
	{"no constraint", "", "active_threads@/Code/work.c", "no constraint of it covers this part of /Code"},
	{"no such depth", "", "cpu@/Code/work.c/work/loop_1", "it has constraints for [/Code /Code/*]"},
	{"unknown metric", "", "sync_wiat", `(did you mean "sync_wait"?)`},
	{"unknown function", "", "cpu@/Code/work.c/none", "the target has no such function"},
	{"unknown object", "", "sync_wait@/SyncObject/Mutex/none", "no such object"},
	{"other machine", "", "cpu@/Machine/node2", `the target runs on the machine "node1"`},
	{"processor", "", "cpu@/Machine/node1/cpu3", "counts by CPU"},
	{"flavor", `metric m { name "m"; ` + Head + ` flavor { mpi, go }; base is counter { } }`, "m", "needs a target of flavor mpi or go; this one is c, unix"},
	{"list of another flavor", `resourceList l is procedure { items { "main" }; flavor { go }; }
		metric m { name "m"; ` + Head + ` base is counter { foreach f in l append preInsn f.entry (* m++; *) } }`, "m", `
m@/: counter
  counter m
`},
	{"patterns", `resourceList l is procedure { items { glob "*write*", regex "^sem_", "exit", "none" } }
		metric m { name "m"; ` + Head + ` base is counter { append preInsn $function("leaf").entry (* m++; *) foreach f in l append preInsn f.entry (* m++; *) } }`, "m", `
m@/: counter
  counter m
  append preInsn 11.entry { m += 1 }
  append preInsn 30.entry { m += 1 }
  append preInsn 31.entry { m += 1 }
  append preInsn 21.entry { m += 1 }
  append preInsn 40.entry { m += 1 }
`},
	{"folding", `resourceList l is int { items { 1, 2, 3 } }
		metric m { name "m"; ` + Head + ` counter n; base is counter {
			foreach i in l if (i * 2 > 3 && i != 3) append preInsn $start.entry (* if (i == 2) m += i * 10 - 1; if (i == 3) m = 7; if ($arg[0] + i > -(n)) m -= n * $arg[1]; n = 0; *)
			if ($machine == "node2") append preInsn $exit.entry (* m++; *)
			foreach f in $procedures if (f.name == "helper") append preInsn f.entry (* m++; *)
			foreach x in $modules if (x.name != "main.c") foreach f in x.funcs if (f.name == "leaf") append preInsn f.calls (* m++; *) } }`, "m", `
m@/: counter
  counter m
  counter n
  append preInsn 1.entry { m += 19; if (($arg[0] + 2) > (-n)) m += -(n * $arg[1]); n = 0 }
  append preInsn 2.entry { m += 1 }
  append preInsn 11.call[0] { m += 1 }
  append preInsn 11.call[1] { m += 1 }
`},
	{"a constraint inside of a metric, guarded by the flags before it", `metric m { name "m"; ` + Head + ` constraint procedureInclusive;
			constraint own /SyncObject/Mutex is counter { append preInsn $start.entry constrained (* own = $constraint[0] + 1; *) append preInsn $start.return (* own = 0; *) }
			base is counter { append preInsn $exit.entry constrained (* m++; *) } }`, "m@/Code/work.c/leaf,/SyncObject/Mutex/cache_lock", `
m@/Code/work.c/leaf,/SyncObject/Mutex/cache_lock: counter
  counter m
  counter procedureInclusive
  counter own
  append preInsn 11.entry { enter procedureInclusive }
  prepend preInsn 11.return { leave procedureInclusive }
  append preInsn 1.entry if procedureInclusive { own = 6 }
  append preInsn 1.return { own = 0 }
  append preInsn 40.entry if procedureInclusive and own { m += 1 }
`},
	{"replacement and flag in two hierarchies", `metric m { name "m"; ` + Head + ` constraint oneMutex; constraint r /Code/* is replace counter { } base is counter { } }`,
		"m@/Code/work.c/leaf,/SyncObject/Mutex/cache_lock", "r replaces the base, so the metric cannot be restricted by oneMutex at the same time"},
	{"a key: the code is that of all objects", byLock, "m@/Code/work.c/leaf,/SyncObject/Mutex/cache_lock", `
m@/Code/work.c/leaf,/SyncObject/Mutex/cache_lock: counter, by lock, key 0x5
  counter m
  counter lock
  counter procedureInclusive
  append preInsn 11.entry { enter procedureInclusive }
  prepend preInsn 11.return { leave procedureInclusive }
  append preInsn 1.entry { lock = $arg[0] }
  append preInsn 1.entry if procedureInclusive { m += 1 }
`},
	{"no key: all objects together", byLock, "m@/", `
m@/: counter, by lock
  counter m
  counter lock
  append preInsn 1.entry { lock = $arg[0] }
  append preInsn 1.entry { m += 1 }
`},
	{"two keys", byTwo, "m@/SyncObject/Mutex/cache_lock", "both oneLock and anyLock are keys; keep one of them"},
	{"key and replacement", byLock, "m@/Code/work.c,/SyncObject/Mutex/cache_lock", "r replaces the base, so the metric cannot be restricted by oneLock at the same time"},
	{"key of an object that is not there", byLock, "m@/SyncObject/Mutex/none", "none"},
	{"two replacements", `metric m { name "m"; ` + Head + ` constraint s /SyncObject is replace counter { } constraint r /Code/* is replace counter { } base is counter { } }`,
		"m@/Code/work.c/leaf,/SyncObject/Mutex", "both r and s would replace the base"},
	{"flag on the kernel", `metric m { name "m"; ` + Head + ` constraint procedureInclusive; base is kernel("off_cpu"); }`, "m@/Code/work.c/leaf", `
m@/Code/work.c/leaf: kernel("off_cpu")
  kernel m
  append preInsn 11.entry { timerEnter m }
  prepend preInsn 11.return { timerLeave m }
`},
	{"flag on the kernel, callees left out", `metric m { name "m"; ` + Head + ` constraint procedureExclusive; base is kernel("off_cpu"); }`, "m@/Code/work.c/leaf", `
m@/Code/work.c/leaf: kernel("off_cpu")
  kernel m
  append preInsn 11.entry { timerStart m }
  prepend preInsn 11.return { timerStop m }
  append preInsn 11.call[0] { timerStop m }
  prepend postInsn 11.call[0] { timerStart m }
  append preInsn 11.call[1] { timerStop m }
  prepend postInsn 11.call[1] { timerStart m }
`},
	{"two flags on the kernel", `metric m { name "m"; ` + Head + ` constraint procedureInclusive; constraint syncType; base is kernel("off_cpu"); }`, "m@/Code/work.c/leaf,/SyncObject/Mutex",
		"one timer for both constraints, procedureInclusive and syncType"},
	{"counting flag on the kernel", `metric m { name "m"; ` + Head + ` constraint inside; base is kernel("off_cpu"); }
		constraint inside /Code/* is counter { append preInsn $constraint[0].entry (* inside++; *) }`, "m@/Code/work.c/leaf",
		"constraint inside: found inside += 1, expected only inside = 1 and inside = 0: it constrains what the kernel keeps"},
	{"kind of the replacement", `metric m { name "m"; ` + Head + ` constraint r /Code is replace void { } base is counter { } }`, "m@/Code/work.c", `
m@/Code/work.c: void
`},
	{"parents", `metric m { name "m"; ` + Head + ` constraint r /Code/* is replace counter { append preInsn $constraint[0].entry (* m += 1; *)
			if ($constraint[1].name == "work.c") foreach f in $constraint[1].funcs append preInsn f.return (* m++; *) } base is counter { } }`, "m@/Code/work.c/leaf", `
m@/Code/work.c/leaf: counter
  counter m
  append preInsn 11.entry { m += 1 }
  append preInsn 10.return { m += 1 }
  append preInsn 11.return { m += 1 }
`},
	{"too much work", `metric m { name "m"; ` + Head + ` base is counter {` + strings.Repeat(" foreach f in $procedures", 9) + ` append preInsn f.entry (* m++; *) } }`, "m", "loop over fewer functions"},
	{"call of the target", `metric m { name "m"; ` + Head + ` counter b; base is counter { append preInsn $start.entry (* bump(&b, $arg[0]); m += b / weigh(); *) } }`, "m", `
m@/: counter
  counter m
  counter b
  append preInsn 1.entry { call 61(&b, $arg[0]); m += b / call 60() }
`},
	{"flag that a call may change", `metric m { name "m"; ` + Head + ` constraint c /Code/* is counter { append preInsn $constraint[0].entry (* c = 1; bump(&c, 2); *) append preInsn $constraint[0].return (* c = 0; *) }
			base is counter { append preInsn $start.entry constrained (* m++; *) } }`, "m@/Code/work.c/leaf", `
m@/Code/work.c/leaf: counter
  counter m
  counter c
  append preInsn 11.entry { c = 1; call 61(&c, 2) }
  append preInsn 11.return { c = 0 }
  append preInsn 1.entry if c { m += 1 }
`},
	{"call of nothing", `metric m { name "m"; ` + Head + ` counter b; base is counter { append preInsn $start.entry (* Size($arg[0], &b); m += b; *) } }`, "m", "no function that could be called: Size"},
	{"quotient", `metric m { name "m"; ` + Head + ` base is counter { append preInsn $start.entry (* m += 7 / 2 + 7 / 0 - -7 / 2; *) } }`, "m", `
m@/: counter
  counter m
  append preInsn 1.entry { m += 6 }
`},
	{"hardware counter", `metric m { name "m"; ` + Head + ` base is hwCounter("cycles"); }`, "m", `
m@/: kernel(hwCounter("cycles"))
`},
	{"hardware counter of a thread", `metric m { name "m"; ` + Head + ` base is hwCounter("r01c2") { } }`, "m@/Process/a{7}/thr_8", `
m@/Process/a{7}/thr_8: kernel(hwCounter("r01c2")), process "a{7}", thread "thr_8"
`},
	{"hardware counter of a function", `metric m { name "m"; ` + Head + ` constraint procedureInclusive; base is hwCounter("cycles"); }`, "m@/Code/work.c/leaf", "hwCounter(\"cycles\") at /Code/work.c/leaf is not in this version: it needs hardware counters that a probe can read"},
	{"hardware counter in code", `metric m { name "m"; ` + Head + ` base is hwCounter("cycles") { append preInsn $start.entry (* sampleHwCounter(m); *) } }`, "m", "hardware counters that a probe can read"},
	{"hardware timer", `metric m { name "m"; ` + Head + ` base is hwTimer("x") { } }`, "m", "is not in this version"},
	{"line", `metric m { name "m"; ` + Head + ` base is counter { append preInsn $line("work.c", 120) (* m++; *) } }`, "m", `
m@/: counter
  counter m
  append preInsn 10.insn[18] { m += 1 }
  append preInsn 11.insn[-4] { m += 1 }
`},
	{"callee", `metric m { name "m"; ` + Head + ` base is counter { foreach c in $function("helper").calls append preInsn c (* if ($callee != 0) m++; *) } }`, "m", `
m@/: counter
  counter m
  append preInsn 2.call[0] { if ($callee != 0) m += 1 }
  append preInsn 2.call[1] { if ($callee != 0) m += 1 }
`},
	{"no such line", `metric m { name "m"; ` + Head + ` base is counter { append preInsn $line("work.c", 7) (* m++; *) } }`, "m", "work.c:7: the target has no code of this line"},
	{"loop as a flag", `metric m { name "m"; ` + Head + ` constraint l /Code/*/* is counter { append preInsn $constraint[0].enter (* l = 1; *) prepend preInsn $constraint[0].exit (* l = 0; *) } base is counter { append preInsn $exit.entry constrained (* m++; *) } }`, "m@/Code/work.c/work/loop_1.1", `
m@/Code/work.c/work/loop_1.1: counter
  counter m
  counter l
  append preInsn 10.enter[1] { enter l }
  prepend preInsn 10.exit[1] { leave l }
  append preInsn 40.entry if l { m += 1 }
`},
	{"turns of a loop", `metric m { name "m"; ` + Head + ` constraint l /Code/*/* is replace wallTimer { append preInsn $constraint[0].start_iter (* startWallTimer(m); *)
			prepend preInsn $constraint[0].end_iter (* stopWallTimer(m); *) if ($constraint[0].name == "loop_1") append preInsn $constraint[1].entry (* stopWallTimer(m); *) } base is wallTimer { } }`, "m@/Code/work.c/work/loop_1", `
m@/Code/work.c/work/loop_1: wallTimer
  wallTimer m
  append preInsn 10.start_iter[0] { timerStart m }
  prepend preInsn 10.end_iter[0] { timerStop m }
  append preInsn 10.entry { timerStop m }
`},
	{"no such loop", `metric m { name "m"; ` + Head + ` constraint l /Code/*/* is replace counter { append preInsn $constraint[0].enter (* m++; *) } base is counter { } }`, "m@/Code/work.c/work/loop_7", "the target has no such loop"},
	{"global id", `metric m { name "m"; ` + Head + ` base is counter { append preInsn $start.entry (* m += $globalId; *) } }`, "m", "$globalId is not in this version"},
	{"symbol", `metric m { name "m"; ` + Head + ` base is counter { append preInsn $start.entry (* m += readSymbol("x"); *) } }`, "m", "read the target's variables"},
}
