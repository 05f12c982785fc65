package main

import (
	"os"
	"path/filepath"
	"testing"
)

// belowZero measures a distribution of values that are all below 0, which are not told apart: their quantiles are not known.
const belowZero = `test values below 0
compile owe.c
    #include <stdio.h>
    __attribute__((noinline)) int owed(int n) { __asm__ volatile(""); return -n; }
    int main(void)
    {
        int sum = 0;
        puts("READY");
        fflush(stdout);
        getchar();
        for (int i = 1; i <= 100; i++)
            sum += owed(i);
        printf("COUNT sum %d\nDONE\n", sum);
        fflush(stdout);
        getchar();
        getchar();
    }
start $dir/owe
await line "^READY"
pcl
    metric debts { name "debts"; units euros; unitsType unnormalized; aggregateOperator sum; style EventCounter; doc "Of a test.";
        base is histogram(counter) { append preInsn $function("owed").return (* debts += (int)$return; *) } }
measure
say go
await line "^DONE"
expect debts count is 100
expect debts p50 < 1
expect debts p99 < 1
`

// TestQuantilesBelowZero: a quantile that is not known holds in no comparison, also not as if it were below everything.
func TestQuantilesBelowZero(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "below.pcltest")
	if err := os.WriteFile(file, []byte(belowZero), 0o644); err != nil {
		t.Fatal(err)
	}
	c := culprit(t, "pcl", "test", file).want(exitFailed)
	c.has(&c.out, "debts count: 100 values, expected 100").has(&c.out, "1 tests: 1 passed, 2 failed")
	c.has(&c.out, "FAIL  "+file+":27:1: debts p50: nothing was measured: it is below 0, where single values are not kept").has(&c.out, "FAIL  "+file+":28:1: ")
}
