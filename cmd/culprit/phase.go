package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"culprit/session/report"
	"culprit/session/socket"
)

func newPhase() *cobra.Command {
	return &cobra.Command{
		Use: "phase TARGET [NAME]", Short: "Begin a new phase of a measurement that goes on",
		Long: `phase asks a culprit that is measuring to begin a new phase, and ends the phase before. What happens
from now on has a search of its own, beside that of the whole measurement: all hypotheses are tested
again, and the answer says what holds in the phase. TARGET is the process of that culprit, or a
process that it measures. Without a NAME it is numbered. In the screens the key is n.

Begin one when what the program does has changed, or is about to: before a load test, say, or after
the cache is warm.`,
		Example: "  culprit phase 4242 load\n  culprit phase nginx",
		Args:    takes(1, 2, "a process, and perhaps a name: culprit phase PID [NAME]"),
		RunE: body(func(cmd *cobra.Command, args []string) error {
			return startPhase(cmd.OutOrStdout(), args[0], strings.Join(args[1:], ""))
		}),
	}
}

func startPhase(w io.Writer, target, name string) error {
	if strings.ContainsAny(name, "\r\n") {
		return usagef("the name of a phase is one line")
	}
	a, err := presentAnswer(target)
	if err != nil {
		return err
	}
	line, err := a.Ask(strings.TrimSuffix(socket.Phase+" "+name, " "))
	var refused *socket.Error
	if errors.As(err, &refused) {
		return errors.New(shortWords(refused.Message))
	}
	if err != nil {
		return err
	}
	var p report.Phase
	if err := json.Unmarshal(line, &p); err != nil {
		return fmt.Errorf("the answer of process %d is no phase: %w", a.PID, err)
	}
	_, err = fmt.Fprintf(w, "Phase %s begins at %.1f s of the measurement. What holds in it: culprit why %d\n", shortWords(p.Name), float64(p.Start), a.PID)
	return err
}
