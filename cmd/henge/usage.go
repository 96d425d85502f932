package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hengedb/henge/internal/fault"
)

// checkUsage has every command below a root report wrong arguments and flags in our words, and end
// with the status of a wrong usage.
func checkUsage(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	root.SetHelpCommand(helpCommand())
	root.InitDefaultHelpCmd()
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w%w", errUsage, fault.InvalidInput("%s", withHelp(flagMessage(cmd, err), cmd, "the flags")))
	})
	commands := []*cobra.Command{root}
	for len(commands) > 0 {
		cmd := commands[0]
		commands = append(commands[1:], cmd.Commands()...)
		check := cmd.Args
		switch {
		case cmd.Name() == "completion" && cmd.Parent() == root:
			check = commandSet(cmd).Args
		case cmd.HasParent() && cmd.Parent().Name() == "completion":
			check = noArguments
		case check == nil:
			continue // it checks them as it runs
		}
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return fmt.Errorf("%w%w", errUsage, err)
			}
			return nil
		}
	}
}

// helpCommand is henge help, which refuses names of commands that do not exist.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND...]", Short: "Show the help of a command",
		Args: func(help *cobra.Command, args []string) error {
			cmd := help.Root()
			for _, name := range args {
				at := slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == name || c.HasAlias(name) })
				if at < 0 {
					return unknownCommand(cmd, name)
				}
				cmd = cmd.Commands()[at]
			}
			return nil
		},
		RunE: func(help *cobra.Command, args []string) error {
			cmd, _, err := help.Root().Find(args)
			if err != nil {
				return err
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// commandSet makes a command that only has commands show them, and refuse unknown ones.
func commandSet(cmd *cobra.Command) *cobra.Command {
	cmd.Args = onlyCommands
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// onlyCommands refuses arguments of a command that has commands: they are names of unknown ones.
func onlyCommands(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	return nil
}

// unknownCommand names the command that is spelled most alike.
func unknownCommand(parent *cobra.Command, name string) error {
	var names []string
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			names = append(names, c.Name())
		}
	}
	message := fmt.Sprintf("Command [%s] is unknown%s", name, didYouMean("", name, names))
	return fault.InvalidInput("%s", withHelp(message, parent, "the commands"))
}

// withHelp adds to a message what lists the names that there are.
func withHelp(message string, cmd *cobra.Command, names string) string {
	mark := "; "
	if strings.HasSuffix(message, "?") {
		mark = " "
	}
	return message + mark + cmd.CommandPath() + " --help lists " + names
}

// didYouMean returns the name that is spelled most like one, as a question behind a message. Short
// names may differ in one letter.
func didYouMean(before, name string, names []string) string {
	near := fault.NearestWithin(name, names, max(1, len(name)/3))
	if near == "" {
		return ""
	}
	return "; did you mean [" + before + near + "]?"
}

// noArguments refuses arguments.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fault.InvalidInput("Argument [%s] is unknown: %s accepts only flags; %s --help lists them", args[0], cmd.CommandPath(),
			cmd.CommandPath())
	}
	return nil
}

// atLeast checks the number of arguments and says which are missing.
func atLeast(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			missing := names[len(args)]
			return fault.InvalidInput("%s is missing%s", strings.ToUpper(missing[:1])+missing[1:], forExample(cmd))
		}
		return nil
	}
}

// exactly is atLeast that takes nothing more.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > len(names) {
			return fault.InvalidInput("Argument [%s] is unexpected: %s accepts only %s%s", args[len(names)], cmd.CommandPath(),
				enumerated(names), forExample(cmd))
		}
		return atLeast(names...)(cmd, args)
	}
}

// enumerated writes names as a sentence lists them.
func enumerated(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// forExample shows how a command is called, behind a message.
func forExample(cmd *cobra.Command) string {
	line, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
	if line == "" {
		line = strings.TrimSuffix(cmd.UseLine(), " [flags]")
	}
	return "; for example: " + line
}

// flagMessage says what is wrong with a flag, in place of the library's and the language's words.
func flagMessage(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	var lacking *pflag.ValueRequiredError
	var wrong *pflag.InvalidValueError
	var syntax *pflag.InvalidSyntaxError
	switch {
	case errors.As(err, &unknown):
		return unknownFlag(cmd, unknown.GetSpecifiedName(), unknown.GetSpecifiedShortnames())
	case errors.As(err, &lacking):
		name := "--" + lacking.GetSpecifiedName()
		if lacking.GetSpecifiedShortnames() != "" {
			name = "-" + lacking.GetSpecifiedName()
		}
		return fmt.Sprintf("Flag [%s] needs a value", name)
	case errors.As(err, &wrong):
		flag := wrong.GetFlag()
		return fmt.Sprintf("Value [%s] of flag [--%s] %s", wrong.GetValue(), flag.Name, flagKind(flag, wrong.Unwrap()))
	case errors.As(err, &syntax):
		return fmt.Sprintf("Flag [%s] is not of the form --NAME or --NAME=VALUE", syntax.GetSpecifiedFlag())
	}
	return err.Error()
}

// unknownFlag names the flag that is spelled most alike. group are the letters behind one dash.
func unknownFlag(cmd *cobra.Command, name, group string) string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if group == "" {
		return fmt.Sprintf("Flag [--%s] is unknown%s", name, didYouMean("--", name, names))
	}
	long, _, _ := strings.Cut(group, "=")
	for _, known := range names {
		if known == long || known[1:] == long && len(long) > 1 { // the first letter may be a flag by itself: -help
			return fmt.Sprintf("Flag [-%s] is unknown; did you mean [--%[1]s]?", known)
		}
	}
	return fmt.Sprintf("Flag [-%s] is unknown", name)
}

// flagKind says which values a flag has, of which another is not one.
func flagKind(flag *pflag.Flag, cause error) string {
	if errors.Is(cause, strconv.ErrRange) {
		return "is too large or too small"
	}
	switch flag.Value.Type() {
	case "int", "int64":
		return "is not a whole number"
	case "uint", "uint64":
		return "is not a whole number of at least 0"
	case "float64":
		return "is not a number"
	case "bool":
		return "is neither true nor false"
	case "duration":
		return "is not a duration such as 30s or 5m"
	}
	return "is wrong: " + cause.Error()
}
