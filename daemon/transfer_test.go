package daemon

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"culprit/grid"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// Input and output against what the program, the kernel and strace count.

// TestTransfers compares every operation and every byte of all ways to move them, through files, sockets, pipes and streams.
func TestTransfers(t *testing.T) {
	bin := testprog.Build(t, "testdata/targets/transfer.c")
	n := strconv.Itoa(rounds(400, 20000))
	file := filepath.Join(t.TempDir(), "data")
	p := testprog.StartTarget(t, bin, file, n)
	d := attachTo(t, p.PID)
	const work = "@/Code/transfer.c/work"
	exact := truths{"io_ops" + work: "ops", "io_bytes" + work: "bytes", "io_size" + work: "bytes", "opens" + work: "opens",
		"io_ops@/Code/transfer.c/use_disk": "", "opens@/Code/transfer.c/use_file": ""}
	on := "@/IO/File/" + file
	exact["io_ops"+on], exact["io_bytes"+on], exact["io_size"+on] = "file_ops", "file_bytes", "file_bytes"
	exact["io_ops"+on+".other"], exact["io_bytes"+on+".other"] = "stream_ops", "stream_bytes"
	times := truths{"fsync_time" + on: "sync_ns",
		"fsync_time" + work: "sync_ns", "fsync_time@/Code/transfer.c/use_disk": "sync_ns", "io_wait@/Code/transfer.c/use_disk": "sync_ns"}
	size, latency := key(t, "io_size", "/Code/transfer.c/use_file"), key(t, "io_latency", "/Code/transfer.c/use_file,/IO/File/"+file)
	var spread spreads
	enableSoon(t, d, &spread, []grid.PairKey{size, latency})
	got := across(t, d, p, append(exact.keys(t), times.keys(t)...)...)
	d.Disable([]grid.PairKey{size, latency})
	counts := p.Counts()
	exact.check(t, got, counts, 1, 0)
	times.check(t, got, counts, 1e-9, 0.02)
	// Of thirteen operations in use_file two move nothing, and one of these is on no file.
	made, moved, of := spread.distribution(latency).Count(), spread.distribution(size).Count(), counts["rounds"]
	t.Logf("%d times of operations on the file, %d sizes, in %d rounds", made, moved, of)
	if uint64(made) != 12*of || uint64(moved) != 11*of {
		t.Errorf("%d times and %d sizes in %d rounds, want 12 and 11 in each", made, moved, of)
	}
	kernelAgrees(t, counts, got["io_ops"+work], got["io_bytes"+work])
	traced := straced(t, bin, n) - straced(t, bin, "0")
	t.Logf("strace -c counts %d operations in an identical run", traced)
	if float64(traced) != got["io_ops"+work] {
		t.Errorf("strace -c counts %d operations, the probes %.0f", traced, got["io_ops"+work])
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// kernelAgrees compares with /proc/PID/io, which counts what moves between two descriptors twice, and nothing of calls that only
// sockets and pipes have.
func kernelAgrees(t *testing.T, n map[string]uint64, ops, bytes float64) {
	t.Helper()
	kernelOps := n["syscr"] + n["syscw"] - n["twice_ops"] + n["unseen_ops"]
	kernelBytes := n["rchar"] + n["wchar"] - n["twice_bytes"] + n["unseen_bytes"]
	t.Logf("/proc/PID/io: %d operations, %d bytes", kernelOps, kernelBytes)
	if ops != float64(kernelOps) || bytes != float64(kernelBytes) {
		t.Errorf("the kernel counts %d operations and %d bytes, the probes %.0f and %.0f", kernelOps, kernelBytes, ops, bytes)
	}
}

func textOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// movingCalls are the system calls that are operations, as strace names them.
var movingCalls = map[string]bool{"read": true, "write": true, "pread64": true, "pwrite64": true, "readv": true, "writev": true,
	"preadv": true, "pwritev": true, "preadv2": true, "pwritev2": true, "sendto": true, "recvfrom": true, "sendmsg": true, "recvmsg": true,
	"sendmmsg": true, "recvmmsg": true, "sendfile": true, "splice": true, "tee": true, "vmsplice": true, "copy_file_range": true}

// straced is how many operations strace counts in a run of its own.
func straced(t *testing.T, bin, rounds string) (calls int) {
	t.Helper()
	table := filepath.Join(t.TempDir(), "strace")
	strace := require.Tool(t, "strace")
	if out, err := exec.Command(strace, "-f", "-c", "-o", table, bin, "alone", table+".data", rounds).CombinedOutput(); err != nil {
		require.Skipf(t, "strace: %v %s", err, out)
	}
	for line := range strings.Lines(textOf(t, table)) {
		f := strings.Fields(line) // % time, seconds, usecs/call, calls, [errors,] syscall
		if len(f) < 5 || !movingCalls[f[len(f)-1]] {
			continue
		}
		n, err := strconv.Atoi(f[3])
		if err != nil {
			t.Fatalf("strace -c says %q", line)
		}
		calls += n
	}
	return calls
}
