package main

import (
	"os"
	"path/filepath"
	"testing"

	"culprit/internal/require"
)

const placedTest = `pcl
    resourceList lacking is procedure { items { "no_function_of_this_name" }; flavor { any }; library true; }
    metric failures {
        name "failures"; units failures; unitsType unnormalized; aggregateOperator sum; style EventCounter;
        base is counter { foreach f in lacking append preInsn f.entry (* failures++; *) }
    }
    metric sales {
        name "sales"; units sales; unitsType unnormalized; aggregateOperator sum; style EventCounter;
        base is counter { append preInsn $function("sell").entry (* sales++; *) }
    }
    metric misnamed {
        name "misnamed"; units sales; unitsType unnormalized; aggregateOperator sum; style EventCounter;
        base is counter { append preInsn $function("sel").entry (* misnamed++; *) }
    }
compile shop.c
    #include <stdio.h>
    static volatile int sold;
    __attribute__((noinline)) void sell(int n) { sold += n; }
    int main(void)
    {
        puts("READY");
        fflush(stdout);
        getchar();
        for (int i = 0; i < 10; i++)
            sell(i);
        puts("DONE");
        fflush(stdout);
        getchar();
        getchar();
    }
test where the probes are
start $dir/shop
await line READY
measure
say go
await line DONE
expect failures is 75
expect failures is 0
expect misnamed is 0
expect sales is 75
expect sales is 10
`

// TestPCLTestSaysWhereProbesAre: a count that is wrong says whether a probe was inserted anywhere, and so does a 0 that nothing counted.
func TestPCLTestSaysWhereProbesAre(t *testing.T) {
	t.Parallel()
	require.Root(t)
	name := filepath.Join(t.TempDir(), "placed.pcltest")
	if err := os.WriteFile(name, []byte(placedTest), 0o600); err != nil {
		t.Fatal(err)
	}
	c := culprit(t, "pcl", "test", name).want(exitFailed)
	c.has(&c.out, "failures: 0 failures, expected 75; no probe was inserted: the program has none of the functions that it counts\n")
	c.has(&c.out, "failures: 0 failures, expected 0; no probe was inserted: ")
	c.has(&c.out, `misnamed: it was not measured: no function matches "sel"; nearest: sell`)
	c.has(&c.out, "sales: 10 sales, expected 75; its probes were in 1 place\n").has(&c.out, "sales: 10 sales, expected 10\n")
}
