// Package deps keeps go.mod complete while the rooms are being written.
package deps

import (
	_ "github.com/cilium/ebpf"
	_ "github.com/cilium/ebpf/asm"
	_ "github.com/cilium/ebpf/btf"
	_ "github.com/cilium/ebpf/link"
	_ "github.com/cilium/ebpf/perf"
	_ "github.com/creack/pty"
	_ "github.com/gdamore/tcell/v2"
	_ "github.com/go-delve/delve/pkg/dwarf/frame"
	_ "github.com/go-delve/delve/pkg/dwarf/loclist"
	_ "github.com/go-delve/delve/pkg/dwarf/op"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/ianlancetaylor/demangle"
	_ "github.com/prometheus/procfs"
	_ "github.com/rivo/tview"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/spf13/cobra"
	_ "github.com/spf13/cobra/doc"
	_ "golang.org/x/arch/x86/x86asm"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/term"
)
