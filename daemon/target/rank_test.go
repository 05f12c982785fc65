package target

import (
	"testing"

	"culprit/grid"
)

func TestRankInEnvironment(t *testing.T) {
	for text, want := range map[string]grid.Rank{
		"A=1\x00OMPI_COMM_WORLD_RANK=3\x00PMIX_NAMESPACE=42@1\x00": {Job: "42@1", Number: 3},
		"PMI_RANK=0\x00PMI_JOBID=x":                                {Job: "x", Number: 0},
		"PMIX_RANK=7":                                              {Job: "", Number: 7},
	} {
		if got, ok := rankIn(text); !ok || got != want {
			t.Errorf("%q: %+v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "OMPI_COMM_WORLD_RANK=", "OMPI_COMM_WORLD_RANK=-1", "OMPI_COMM_WORLD_RANK=1x", "XOMPI_COMM_WORLD_RANK=1", "\x00\x00=\x00"} {
		if got, ok := rankIn(text); ok {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
