package kernel

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

func TestQuotas(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"a/cpu.max": "150000 100000\n", "a/b/cpu.max": "max 100000\n", "a/c/cpu.max": "50000 100000\n", "bad/cpu.max": "x y z",
		"cpu,cpuacct/v1/cpu.cfs_quota_us": "25000\n", "cpu,cpuacct/v1/cpu.cfs_period_us": "100000\n",
		"cpu,cpuacct/free/cpu.cfs_quota_us": "-1\n", "cpu,cpuacct/free/cpu.cfs_period_us": "100000\n",
		"cpu/zero/cpu.cfs_quota_us": "100\n", "cpu/zero/cpu.cfs_period_us": "0\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for groups, want := range map[string]float64{
		"0::/a\n": 1.5, "0::/a/b\n": 1.5, "0::/a/c\n": 0.5, "0::/a/c/../../..\n": math.Inf(1), "0::/bad": math.Inf(1), "0::/\n": math.Inf(1),
		"4:cpu,cpuacct:/v1\n": 0.25, "4:cpu,cpuacct:/free\n": math.Inf(1), "4:cpu:/zero\n": math.Inf(1), "4:cpuset:/v1\n": math.Inf(1),
		"4:cpu,cpuacct:/v1\n0::/a/c\n": 0.25, "": math.Inf(1), "nonsense\n:\n": math.Inf(1),
	} {
		if got := quotaOf(groups, root); got != want {
			t.Errorf("%q: %v, want %v", groups, got, want)
		}
	}
}
