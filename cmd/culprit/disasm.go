package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"culprit/cmd/culprit/internal/proclist"
	"culprit/daemon"
	"culprit/daemon/placement"
	"culprit/internal/safetext"
	"culprit/pcl"
)

// listedSites is how many places are printed if nothing else is said: those of a metric of one function.
const listedSites = 16

func newPCLDisasm() *cobra.Command {
	var files, texts []string
	sites := listedSites
	cmd := &cobra.Command{
		Use: "disasm METRIC[@FOCUS] PID|NAME", Short: "Print the code that a metric would insert into a process, and its price", Args: takes(2, 2, "a metric and a process: culprit pcl disasm METRIC PID, or culprit pcl disasm METRIC@FOCUS PID"),
		Long: `Print the code that a metric would insert into a process, and its price in ns.

The process is stopped for about a millisecond to find out where code can be inserted; it is not changed.
The price is the time that a probe adds to a busy function, measured on this machine; in most functions it is less.`,
		RunE: body(func(cmd *cobra.Command, args []string) error {
			return disasm(cmd, args[0], args[1], files, texts, sites)
		}),
	}
	addLibraryFlags(cmd, &files, &texts)
	cmd.Flags().IntVar(&sites, "sites", sites, "print at most `N` places of each process")
	return cmd
}

func disasm(cmd *cobra.Command, what, target string, files, texts []string, sites int) error {
	lib, err := loadLibrary(files, texts, false)
	if err != nil {
		return err
	}
	key, err := pcl.ParsePair(what, lib.Defined()...)
	if err == nil {
		err = lib.Check(key.Metric, key.Focus)
	}
	if err != nil {
		return &statusError{exitUsage, err}
	}
	pid, err := proclist.Resolve(target)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(cmd.Context(), []int{pid})
	defer stop()
	var list []daemon.Listing
	err = briefly(ctx, lib, pid, func(d *daemon.Daemon) (err error) {
		list, err = d.Disassemble(key, sites)
		return err
	})
	if err != nil {
		return err
	}
	return writeListings(cmd.OutOrStdout(), list)
}

func writeListings(w io.Writer, list []daemon.Listing) error {
	var b strings.Builder
	for _, l := range list {
		fmt.Fprintf(&b, "%s\n%s", safetext.CleanMax(l.Process, maxLine), cleanLines(l.Plan))
		switch {
		case l.Kernel != "":
			fmt.Fprintf(&b, "kept by the kernel: no code, and no price for each event\n")
		case len(l.Sites) == 0:
			b.WriteString("no code: the process has none of the functions\n")
		default:
			fmt.Fprintf(&b, "price: %.2f ns for each probe that is passed, on average\n", l.PriceNS)
		}
		for _, s := range l.Sites {
			writeSite(&b, &s)
		}
		if l.Left > 0 {
			fmt.Fprintf(&b, "\nand %d more places (--sites N prints N)\n", l.Left)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeSite(b *strings.Builder, s *placement.Listed) {
	fmt.Fprintf(b, "\n%s, %s at %#x, way in: %s, %.2f ns\n", safetext.CleanMax(s.Function, maxLine), strings.Join(s.Points, " and "), s.Addr, s.Tactic, s.PriceNS)
	for _, in := range s.Code {
		fmt.Fprintf(b, "  %x  %-30s %s\n", in.Addr, fmt.Sprintf("% x", in.Bytes), in.Text)
	}
}
