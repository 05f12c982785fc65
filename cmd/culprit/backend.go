package main

import (
	"github.com/spf13/pflag"

	"culprit/grid"
)

// A backendFlag says how values are come by: auto, probe, sample or ebpf.
type backendFlag grid.Backend

func (b *backendFlag) register(f *pflag.FlagSet) {
	*b = backendFlag(grid.BackendAuto)
	f.Var(b, "backend", "how to measure. auto: probes if possible, else sampling; probe: probes or fail; sample: never stop or modify the program; ebpf: sampling plus kernel wait times, or fail")
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
