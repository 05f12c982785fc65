package cases

// Histograms are cases: items of a metric m behind its name, and the plan of it or what the error says.
var Histograms = []struct{ Name, Items, Pair, Want string }{
	{"a timer", Head + `base is histogram(wallTimer) { append preInsn $start.entry (* startWallTimer(m); *) prepend preInsn $start.return (* stopWallTimer(m); *) }`, "m", `
m@/: histogram(wallTimer)
  wallTimer m
  append preInsn 1.entry { timerEnter m }
  prepend preInsn 1.return { timerLeave m }
`},
	{"CPU time under a flag", Head + `constraint procedureInclusive; base is histogram(processTimer) {
		append preInsn $exit.entry constrained (* startProcessTimer(m); *) prepend preInsn $exit.return constrained (* stopProcessTimer(m); *) }`, "m@/Code/work.c/leaf", `
m@/Code/work.c/leaf: histogram(processTimer)
  processTimer m
  counter procedureInclusive
  append preInsn 11.entry { enter procedureInclusive }
  prepend preInsn 11.return { leave procedureInclusive }
  append preInsn 40.entry if procedureInclusive { timerEnter m }
  prepend preInsn 40.return if procedureInclusive { timerLeave m }
`},
	{"values that are added", Head + `counter n; base is histogram(counter) { append preInsn $start.entry (* n = $arg[2]; *)
		append preInsn $start.return (* if ($return > 0) m += $return; if (n > 3) m -= n; n++; *) }`, "m", `
m@/: histogram(counter)
  counter m
  counter n
  append preInsn 1.entry { n = $arg[2] }
  append preInsn 1.return { if ($return > 0) m += $return; if (n > 3) m += -n; n += 1 }
`},
	{"a replacement that has one too", Head + `constraint r /Code/* is replace histogram(counter) { append preInsn $constraint[0].entry (* m += $arg[0]; *) } base is histogram(counter) { }`,
		"m@/Code/work.c/leaf", `
m@/Code/work.c/leaf: histogram(counter)
  counter m
  append preInsn 11.entry { m += $arg[0] }
`},
	{"a condition on an argument", Head + `base is histogram(wallTimer) { append preInsn $start.entry (* if ($arg[1] > 1000) startWallTimer(m); *)
		prepend preInsn $start.return (* stopWallTimer(m); *) }`, "m", `
m@/: histogram(wallTimer)
  wallTimer m
  append preInsn 1.entry { if ($arg[1] > 1000) timerEnter m }
  prepend preInsn 1.return { timerLeave m }
`},
	{"counting events", Head + `base is histogram(counter) { append preInsn $start.entry (* m++; *) }`, "", "expected m += VALUE: of values that are all 1 there is no distribution"},
	{"assigning", Head + `base is histogram(counter) { append preInsn $start.entry (* m = $arg[0]; *) }`, "", "found an assignment to m, whose base is a histogram, expected m += VALUE"},
	{"adding to a timer", Head + `base is histogram(wallTimer) { append preInsn $start.entry (* m += 1; *) }`, "", "found an assignment to the timer m"},
	{"the other clock", Head + `base is histogram(wallTimer) { append preInsn $start.entry (* startProcessTimer(m); *) }`, "", "found startProcessTimer for a base of kind wallTimer"},
	{"of a flag", Head + `constraint f /Code/* is histogram(counter) { append preInsn $constraint[0].entry (* f = 1; *) } base is counter { }`, "", `found "histogram", expected "counter"`},
	{"of what has none", Head + `base is histogram(void) { }`, "", `expected "wallTimer"`},
	{"of the kernel", Head + `base is histogram("off_cpu") { }`, "", `expected "wallTimer"`},
	{"a replacement without", Head + `constraint r /Code/* is replace wallTimer { } base is histogram(wallTimer) { }`, "",
		"found wallTimer in the replacement r of a base of kind histogram(wallTimer), expected both or neither to be a histogram"},
	{"a replacement with", Head + `constraint r /Code/* is replace histogram(counter) { } base is counter { }`, "",
		"found histogram(counter) in the replacement r of a base of kind counter"},
	{"a value that holds", `units x; aggregateOperator sum; style SampledFunction; base is histogram(counter) { }`, "", "its base is a histogram; found style SampledFunction, expected EventCounter"},
	{"another aggregate", `units x; aggregateOperator max; style EventCounter; base is histogram(counter) { }`, "", "found aggregateOperator max, expected sum"},
	{"idle time", Head + `parked excluded; base is histogram(wallTimer) { }`, "", "found parked excluded, expected none"},
}

// GaugeHead is what every metric with a gauge needs beside its name and base.
const GaugeHead = `units x; aggregateOperator sum; style SampledFunction; `

// Gauges are cases: items of a metric m behind its name, and the plan of it or what the error says.
var Gauges = []struct{ Name, Items, Pair, Want string }{
	{"of the process", GaugeHead + `base is gauge { append preInsn $start.entry (* m++; m -= $arg[0]; *) append preInsn $start.return (* if (m > 3) m = 0; *) }`, "m", `
m@/: gauge
  gauge m
  append preInsn 1.entry { m += 1; m += -$arg[0] }
  append preInsn 1.return { if (m > 3) m = 0 }
`},
	{"of each thread", GaugeHead + `counter n; base is counter { append preInsn $start.entry (* m = $arg[0]; n++; *) }`, "m", `
m@/: gauge of each thread
  gauge of each thread m
  counter n
  append preInsn 1.entry { m = $arg[0]; n += 1 }
`},
	{"a counter stays one", Head + `base is counter { append preInsn $start.entry (* m = $arg[0]; *) }`, "m", `
m@/: counter
  counter m
  append preInsn 1.entry { m = $arg[0] }
`},
	{"of a process by name", GaugeHead + `base is gauge { append preInsn $start.entry (* m++; *) }`, "m@/Process/a{7}", `
m@/Process/a{7}: gauge, process "a{7}"
  gauge m
  append preInsn 1.entry { m += 1 }
`},
	{"of a thread", GaugeHead + `base is gauge { append preInsn $start.entry (* m++; *) }`, "m@/Process/a{7}/thr_8", "one of each thread is written"},
	{"of another style", Head + `base is gauge { }`, "", "found a gauge and the style EventCounter, expected style SampledFunction"},
	{"a replacement of another style", Head + `constraint c /Code is replace gauge { } base is counter { }`, "", "found a gauge and the style EventCounter"},
	{"its address", GaugeHead + `base is gauge { append preInsn $start.entry (* f(&m); *) }`, "", "found the address of the gauge m, expected that of a counter"},
	{"the address of one of each thread", GaugeHead + `base is counter { append preInsn $start.entry (* f(&m); *) }`, "", "found the address of the gauge m"},
	{"with a key", GaugeHead + `counter n; base is gauge by n { append preInsn $start.entry (* n = $arg[0]; m++; *) }`, "", "found a base of kind gauge with a key"},
	{"with a distribution", GaugeHead + `base is histogram(gauge) { }`, "", `expected "wallTimer"`},
	{"a timer", GaugeHead + `base is gauge { append preInsn $start.entry (* startWallTimer(m); *) }`, "", "found startWallTimer for a base of kind gauge"},
}
