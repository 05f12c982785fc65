package mpi

import (
	"math"
	"slices"
	"testing"
)

func job(function string, shares ...float64) *Job {
	j := &Job{Function: function}
	for i, s := range shares {
		j.Ranks = append(j.Ranks, RankTime{Rank: i, PID: 100 + i, Collective: s})
	}
	j.judge()
	return j
}

func TestWhoWaitsForWhom(t *testing.T) {
	for _, c := range []struct {
		shares           []float64
		waiting, awaited []int
		sentence         string
	}{
		{[]float64{0.7, 0.05, 0.72, 0.68}, []int{0, 2, 3}, []int{1}, "Ranks 0, 2 and 3 wait 70 % of their time in MPI_Allreduce for rank 1, which is there for 5 %"},
		{[]float64{0.02, 0.5}, []int{1}, []int{0}, "Rank 1 waits 50 % of its time in MPI_Allreduce for rank 0, which is there for 2 %"},
		{[]float64{0.6, 0.04, 0.61, 0.06}, []int{0, 2}, []int{1, 3}, "Ranks 0 and 2 wait 60 % of their time in MPI_Allreduce for ranks 1 and 3, which are there for 5 %"},
		{[]float64{0.5, 0.52, 0.49, 0.51}, nil, nil, "All 4 ranks spend 49 to 52 % of their time in MPI_Allreduce: none of them is the one that the others wait for all the time"},
		{[]float64{0.2, 0.3, 0.4, 0.5}, nil, nil, "All 4 ranks spend 20 to 50 % of their time in MPI_Allreduce: none of them is the one that the others wait for all the time"},
		{[]float64{0.66, 0.65, 0.54}, nil, nil, "All 3 ranks spend 54 to 66 % of their time in MPI_Allreduce: none of them is the one that the others wait for all the time"},
		{[]float64{0.01, 0.05, 0.02}, nil, nil, ""},
		{[]float64{0.9}, nil, nil, ""},
		{nil, nil, nil, ""},
	} {
		j := job("MPI_Allreduce", c.shares...)
		if !slices.Equal(j.Waiting, c.waiting) || !slices.Equal(j.Awaited, c.awaited) || j.Sentence != c.sentence {
			t.Errorf("%v: %v wait for %v: %q, want %q", c.shares, j.Waiting, j.Awaited, j.Sentence, c.sentence)
		}
	}
}

func TestManyRanksAreCounted(t *testing.T) {
	shares := make([]float64, 40)
	for i := range shares {
		shares[i] = 0.8
	}
	shares[17] = 0.1
	want := "Ranks 0, 1, 2, 3, 4, 5, 6 and 32 more wait 80 % of their time in collective operations of MPI for rank 17, which is there for 10 %"
	if j := job("", shares...); j.Sentence != want {
		t.Errorf("%q", j.Sentence)
	}
}

// FuzzJudge: whatever the figures are, no rank both waits and is waited for, and either all are placed or none.
func FuzzJudge(f *testing.F) {
	f.Add(0.7, 0.1, 0.7, 0.2)
	f.Add(math.NaN(), 1.0, math.Inf(1), -1.0)
	f.Fuzz(func(t *testing.T, a, b, c, d float64) {
		j := job("x", a, b, c, d)
		if n := len(j.Waiting) + len(j.Awaited); n != 0 && n != 4 || (len(j.Waiting) == 0) != (len(j.Awaited) == 0) {
			t.Errorf("%v %v", j.Waiting, j.Awaited)
		}
		for _, r := range j.Waiting {
			if slices.Contains(j.Awaited, r) {
				t.Errorf("rank %d waits and is waited for", r)
			}
		}
	})
}
