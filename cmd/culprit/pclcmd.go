package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"culprit/daemon/kernel"
	"culprit/daemon/kernelmeter"
	"culprit/pcl"
	"culprit/pcl/check"
	"culprit/pcl/syntax"
)

func newPCL() *cobra.Command {
	cmd := &cobra.Command{
		Use: "pcl", Short: "Check, format, document, test and disassemble PCL files",
		Args: noCommand, RunE: body(func(cmd *cobra.Command, _ []string) error { return cmd.Help() }),
	}
	cmd.AddCommand(newPCLCheck(), newPCLFmt(), newPCLDoc(), newPCLDisasm(), newPCLTest())
	return cmd
}

func newPCLCheck() *cobra.Command {
	return &cobra.Command{
		Use: "check FILE...", Short: "Report what is wrong in a file, with line and column", Args: takes(1, anyNumber, "a file: culprit pcl check FILE"),
		RunE: body(func(cmd *cobra.Command, args []string) error {
			lib, err := loadLibrary(args, nil, false)
			if err != nil {
				return err
			}
			said := "no errors"
			if n := tellWarnings(cmd.ErrOrStderr(), lib, args); n > 0 {
				said += fmt.Sprintf(", warnings: %d", n)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), said)
			return err
		}),
	}
}

// tellWarnings writes what looks wrong in the files that were named, and returns how many warnings that were.
func tellWarnings(w io.Writer, lib *pcl.Library, files []string) (n int) {
	for _, p := range check.Warnings(lib, check.Kept{Quantities: kernelmeter.Names(), Events: kernel.EventNames()}) {
		if slices.Contains(files, p.Pos.File.Name) {
			fmt.Fprintln(w, p.Detail())
			n++
		}
	}
	return n
}

func newPCLFmt() *cobra.Command {
	var write bool
	cmd := &cobra.Command{
		Use: "fmt FILE", Short: "Print a file in its canonical layout (- is standard input)", Args: takes(1, 1, "a file: culprit pcl fmt FILE"),
		RunE: body(func(cmd *cobra.Command, args []string) error { return formatPCL(cmd, args[0], write) }),
	}
	cmd.Flags().BoolVarP(&write, "write", "w", false, "write the result back to the file")
	return cmd
}

// maxPCL bounds the text that fmt reads, in bytes.
const maxPCL = syntax.MaxText

func formatPCL(cmd *cobra.Command, name string, write bool) error {
	if name == "-" && write {
		return usagef("--write needs a file")
	}
	text, err := readPCL(cmd.InOrStdin(), name)
	if err != nil {
		return &statusError{exitUsage, err}
	}
	tree, problems := syntax.Parse(name, text)
	if len(problems) > 0 {
		var all []string
		for _, p := range problems {
			all = append(all, p.Detail())
		}
		return usagef("the PCL has errors:\n%s", strings.Join(all, "\n"))
	}
	out := syntax.Print(tree)
	if !write {
		_, err := io.WriteString(cmd.OutOrStdout(), out)
		return err
	}
	if out == text {
		return nil
	}
	return replaceFile(name, out)
}

func readPCL(stdin io.Reader, name string) (string, error) {
	r := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return "", err
		}
		defer f.Close()
		r = f
	}
	b, err := io.ReadAll(io.LimitReader(r, maxPCL+1))
	if err == nil && len(b) > maxPCL {
		err = fmt.Errorf("%s is larger than %d MiB; it is hardly PCL", name, maxPCL>>20)
	}
	return string(b), err
}

// replaceFile writes a file by way of another one and a rename, with the old one's permissions.
func replaceFile(name, text string) error {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".culprit-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(info.Mode().Perm()), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

func newPCLDoc() *cobra.Command {
	var alone bool
	cmd := &cobra.Command{
		Use: "doc [FILE...]", Short: "Print the reference of the metrics, constraints and hypotheses of files, or of all there are, as Markdown",
		RunE: body(func(cmd *cobra.Command, args []string) error {
			if alone && len(args) == 0 {
				return usagef("--alone needs a file")
			}
			lib, err := loadLibrary(args, nil, alone)
			if err != nil {
				return err
			}
			text := lib.Doc()
			if len(args) > 0 {
				text = lib.DocOf(args...)
			}
			_, err = io.WriteString(cmd.OutOrStdout(), text)
			return err
		}),
	}
	cmd.Flags().BoolVar(&alone, "alone", false, "leave out the default library and the user's directory")
	return cmd
}

func newHypotheses() *cobra.Command {
	var files, texts []string
	cmd := &cobra.Command{
		Use: "hypotheses", Short: "List what the search tests, as a tree", Args: takesNothing,
		RunE: body(func(cmd *cobra.Command, _ []string) error {
			lib, err := loadLibrary(files, texts, false)
			if err != nil {
				return err
			}
			_, err = io.WriteString(cmd.OutOrStdout(), hypothesisTree(lib.Hypotheses()))
			return err
		}),
	}
	addLibraryFlags(cmd, &files, &texts)
	return cmd
}

func addLibraryFlags(cmd *cobra.Command, files, texts *[]string) {
	cmd.Flags().StringArrayVar(files, "pcl", nil, "read a `FILE` as well (repeatable)")
	cmd.Flags().StringArrayVarP(texts, "expr", "e", nil, "PCL text as well (repeatable)")
}

// firstSentence is text up to its first full stop, on one line.
func firstSentence(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if i := strings.Index(s, ". "); i >= 0 {
		return s[:i+1]
	}
	return s
}
