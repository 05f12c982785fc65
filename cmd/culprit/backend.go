package main

import (
	"github.com/spf13/pflag"

	"culprit/grid"
)

// A backendFlag says how values are come by: auto, probe, sample or ebpf.
type backendFlag grid.Backend

func (b *backendFlag) register(f *pflag.FlagSet) {
	*b = backendFlag(grid.BackendAuto)
	f.Var(b, "backend", "how to measure: probe patches the program, and fails where that is not possible; sample only looks, at stacks, and never stops or changes it; ebpf is sample where eBPF keeps what threads wait for as well, and fails where it cannot; auto is probe where that is possible, else sample")
}

// String implements pflag.Value.
func (b *backendFlag) String() string { return grid.Backend(*b).String() }

// Type implements pflag.Value.
func (b *backendFlag) Type() string { return "BACKEND" }

// Set implements pflag.Value.
func (b *backendFlag) Set(s string) error {
	v, err := grid.ParseBackend(s)
	if err == nil {
		*b = backendFlag(v)
	}
	return err
}
