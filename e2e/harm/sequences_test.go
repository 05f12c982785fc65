package harm

import "time"

func init() {
	watched := func(source, function string) func(*round) string {
		return watching(2*time.Second, "exec_time_inclusive@/Code/"+source+"/"+function, source, []string{"-pthread"})
	}
	scenarios = append(scenarios,
		scenario{row: 15, name: "sequences", rounds: 1, run: watched("percpu.c", "last_add")},
		scenario{row: 15, name: "sequences-made", rounds: 1, run: watched("madeseq.c", "made_add")},
		scenario{row: 16, name: "assembly", rounds: 1, run: watched("passes.c", "*")},
		scenario{row: 19, name: "inside", rounds: 1, run: watched("inside.c", "*")},
	)
}
