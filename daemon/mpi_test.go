package daemon

import (
	"errors"
	"slices"
	"testing"
	"time"

	"culprit/daemon/patch"
	"culprit/grid"
	"culprit/internal/testprog"
)

// TestMPI compares operations, times and bytes of two processes that mpirun started with what they count themselves.
func TestMPI(t *testing.T) {
	j := testprog.StartMPI(t, "mpi.c", 2, "400")
	d := attachTo(t, j.PIDs...)
	const world = "/SyncObject/Message/ompi_mpi_comm_world"
	second := "/Process/" + d.targets[1].Name
	exact := truths{
		"mpi_msgs_sent@/": "sent0 sent1", "mpi_msgs_recv@/": "received0 received1", "mpi_collective_ops@/": "coll_ops0 coll_ops1",
		"mpi_rma_ops@/": "rma_ops0 rma_ops1", "mpi_msgs_sent@" + second: "sent1", "mpi_msgs_sent@/Code/mpi.c/pass": "sent_tagged0",
		"mpi_msgs_sent@" + world + "/7": "sent_tagged0", "mpi_msgs_sent@" + world + "/8": "", "mpi_collective_ops@/Code/mpi.c/reach": "",
	}
	times := truths{
		"mpi_p2p_time@/": "p2p_ns0 p2p_ns1", "mpi_p2p_time@" + second: "p2p_ns1", "mpi_p2p_time@/Code/mpi.c/pass," + second: "recv_ns1",
		"mpi_collective_time@/": "coll_ns0 coll_ns1", "mpi_rma_time@/": "rma_ns0 rma_ns1",
	}
	sizes := truths{
		"mpi_bytes_sent@/": "sent_bytes0 sent_bytes1", "mpi_bytes_recv@/": "recv_bytes0 recv_bytes1", "mpi_collective_bytes@/": "coll_bytes0 coll_bytes1",
		"mpi_rma_bytes@/": "rma_bytes0 rma_bytes1", "mpi_bytes_sent@" + world + "/7": "tagged_bytes0",
	}
	keys := slices.Concat(exact.keys(t), times.keys(t), sizes.keys(t))
	var s spreads
	lengths := key(t, "mpi_msg_size", "/")
	enableSoon(t, d, &s, append(keys, lengths))
	j.Tell(t, "go")
	j.ExpectAll(t, "DONE", time.Minute)
	d.Disable(append(keys, lengths))
	got := s.all()
	exact.check(t, got, j.Counts(), 1, 0)
	times.check(t, got, j.Counts(), 1e-9, 0.01)
	sizes.check(t, got, j.Counts(), 1, 0)
	c, of := j.Counts(), s.distribution(lengths)
	t.Logf("%d messages, %g bytes, median %g, largest %g", of.Count(), of.Sum, of.Quantile(0.5), of.Max())
	if of.Count() != c["sent0"]+c["sent1"] || of.Sum != float64(c["sent_bytes0"]+c["sent_bytes1"]) {
		t.Errorf("%d messages of %g bytes, the program sent %v", of.Count(), of.Sum, c)
	}
	for _, pid := range j.PIDs[1:] {
		defer func() {
			if r, err := patch.Verify(pid); err == nil && !r.Clean() {
				t.Errorf("left behind: %+v", r)
			}
		}()
	}
	detachClean(t, d, j.PIDs[0])
	j.End(t)
}

// all returns the sums by the text of their pair.
func (s *sums) all() map[string]float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]float64{}
	for k, v := range s.m {
		out[k.String()] = v
	}
	return out
}

// TestMetricsOfMPIElsewhere: a program without MPI is told so.
func TestMetricsOfMPIElsewhere(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/sleeper.c"))
	d := attachTo(t, p.PID)
	r := d.Enable([]grid.PairKey{key(t, "mpi_p2p_time", "/")}, &sums{})[0]
	var unsupported grid.ErrUnsupported
	t.Log(r.Err)
	if !errors.As(r.Err, &unsupported) {
		t.Errorf("%v", r.Err)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}
