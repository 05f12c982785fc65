package kernel

import (
	"errors"
	"math"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/internal/require"
)

func TestTSCKeepsTime(t *testing.T) {
	clock, err := CalibrateTSC()
	var missing *Unsupported
	if errors.As(err, &missing) {
		require.Skip(t, missing.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	coarse, coarseError := clock.Hz(), clock.Error()
	// Another stretch of time, measured with the first rate, must come out right.
	var from, to unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &from)
	begin := TSC()
	time.Sleep(200 * time.Millisecond)
	end := TSC()
	unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &to)
	wall := float64(to.Nano()-from.Nano()) / 1e9
	if got := clock.Seconds(float64(end - begin)); math.Abs(got-wall) > 0.001*wall {
		t.Errorf("the counter says %v s, the clock %v s", got, wall)
	}
	if err := clock.Refine(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%.6f GHz +- %.1e after 20 ms, %.6f GHz +- %.1e after %.0f ms", coarse/1e9, coarseError, clock.Hz()/1e9,
		clock.Error(), wall*1000+20)
	if math.Abs(clock.Hz()-coarse)/coarse > coarseError+clock.Error()+1e-5 || clock.Error() > 1e-4 {
		t.Errorf("refined from %v to %v Hz", coarse, clock.Hz())
	}
}

func TestUnstableTSCIsRefused(t *testing.T) {
	if err := checkFlags("\t: fpu tsc constant_tsc nonstop_tsc avx"); err != nil {
		t.Error(err)
	}
	var missing *Unsupported
	if err := checkFlags("\t: fpu tsc constant_tsc_not"); !errors.As(err, &missing) || missing.Needs == "" {
		t.Errorf("%v", err)
	}
}
