package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"culprit/internal/safetext"
	"culprit/pcl/syntax"
)

// What is said of a command line that no command can use: what is missing or too much, with an example, and what was probably meant.

// maxWord is how much of a word of the user is shown in a message, in terminal cells.
const maxWord = 60

// anyNumber is no upper limit of the arguments of a command.
const anyNumber = -1

// takes is how many arguments a command takes, at least and at most. needs says what they are, and how the command is called: "a process:
// culprit why PID".
func takes(least, most int, needs string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fmt.Errorf("%s needs %s", cmd.CommandPath(), needs)
		case most != anyNumber && len(args) > most:
			return fmt.Errorf("%s: found %q, which is too much; it needs %s", cmd.CommandPath(), shortWord(args[most]), needs)
		}
		return nil
	}
}

// takesNothing refuses arguments.
func takesNothing(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes no arguments, found %q", cmd.CommandPath(), shortWord(args[0]))
}

// noCommand refuses arguments of a command that only has commands below it: they are mistyped commands or, of the bare program, targets
// without `attach`.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	name := shortWord(args[0])
	above, _ := strings.CutPrefix(cmd.CommandPath(), cmd.Root().Name())
	above = strings.TrimPrefix(above+" ", " ")
	text := fmt.Sprintf("there is no command %q", above+name)
	switch s := suggestions(cmd, args[0]); {
	case len(s) > 0:
		return errors.New(text + "; did you mean " + strings.Join(s, " or ") + "?")
	case cmd.HasParent():
		return fmt.Errorf("%s; `%s --help` lists those that there are", text, cmd.CommandPath())
	}
	return fmt.Errorf("%s; to measure a process: culprit attach %s", text, name)
}

// helpOf says first that there is no such command where help is asked of a mistyped one: the command above it tells its own.
func helpOf(help func(*cobra.Command, []string)) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, args []string) {
		if words := cmd.Flags().Args(); cmd.HasAvailableSubCommands() && len(words) > 0 {
			printError(noCommand(cmd, words))
		}
		help(cmd, args)
	}
}

// newHelp is the command that tells what --help tells.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Help about any command",
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) > 0 && of.HasAvailableSubCommands() {
				err = noCommand(of, rest)
			}
			if err != nil {
				return err
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
	}
}

// suggestions are the commands below a command that a word may be meant for, as the user writes them behind the program's name.
func suggestions(cmd *cobra.Command, word string) (list []string) {
	if cmd.SuggestionsMinimumDistance <= 0 {
		cmd.SuggestionsMinimumDistance = cmd.Root().SuggestionsMinimumDistance
	}
	above, _ := strings.CutPrefix(cmd.CommandPath(), cmd.Root().Name())
	for _, s := range cmd.SuggestionsFor(word) {
		list = append(list, strings.TrimSpace(above+" "+s))
	}
	return list
}

// flagError tells what was probably meant by a flag that a command does not have. Behind a mistyped command each flag is unknown, and the
// command is what matters.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	if args := cmd.Flags().Args(); cmd.HasAvailableSubCommands() && len(args) > 0 {
		return noCommand(cmd, args)
	}
	name := unknown.GetSpecifiedName()
	if letters := unknown.GetSpecifiedShortnames(); letters != "" {
		name = letters // -for is read as -f -o -r
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	text := fmt.Sprintf("%s has no flag %s", cmd.CommandPath(), flagAsWritten(unknown))
	if near := syntax.Closest(name, names); near != "" {
		return fmt.Errorf("%s; did you mean --%s?", text, near)
	}
	return errors.New(text)
}

func flagAsWritten(unknown *pflag.NotExistError) string {
	if letters := unknown.GetSpecifiedShortnames(); letters != "" {
		return shortWord("-" + letters)
	}
	return shortWord("--" + unknown.GetSpecifiedName())
}

func shortWord(s string) string { return safetext.CleanMax(s, maxWord) }

// maxLine and maxLines bound what an error message may put on the terminal.
const (
	maxLine  = 400
	maxLines = 200
)

// cleanLines makes text of several lines safe for the terminal and keeps its lines.
func cleanLines(s string) string { return safetext.CleanLines(s, maxLine, maxLines) }
