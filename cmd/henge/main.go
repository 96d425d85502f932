// Command henge is the whole product in one binary: the server in any set of roles, and the tools
// to load data and to ask.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hengedb/henge/internal/fault"
)

// version is set by the build.
var version = "0.1.0-dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal does what signals do without us
	err := command().ExecuteContext(ctx)
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "henge: interrupted")
		os.Exit(exitInterrupted)
	case errors.Is(err, errReported):
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "henge: "+messageOf(err))
		os.Exit(1)
	}
}

// exitInterrupted is the status by which shells know that a program was interrupted.
const exitInterrupted = 130

// messageOf returns what is told of an error. Who runs this program is who can mend what it runs
// on: of that also the cause is told, which a server keeps for its log.
func messageOf(err error) string {
	f := fault.Find(err)
	if f == nil {
		return err.Error()
	}
	switch f.Category {
	case fault.CategoryServiceUnavailable, fault.CategoryRuntimeFailure, fault.CategoryDefensive:
		return strings.Join(strings.Fields(f.Error()), " ") // causes may have lines of their own
	}
	return f.Message
}

// errReported ends the program with status 1 when the user has been told why already.
var errReported = errors.New("already reported")

func command() *cobra.Command {
	// No template is set anywhere here: text/template calls methods by name, and for that the linker
	// would keep every exported method of every type, a quarter of the binary.
	root := &cobra.Command{
		Use:   "henge",
		Short: "A real-time analytics store: events in, SQL answers out, in milliseconds",
		Long: `Henge is a real-time analytics store: events in, SQL answers out, in milliseconds.

A first try, with no data of your own:

  henge server &
  henge sample --rows 100000 > events.json
  henge ingest events.json --into events
  henge sql -q "SELECT country, COUNT(*) AS n FROM events GROUP BY 1 ORDER BY 2 DESC LIMIT 5"`,
		Version:       version + buildSuffix(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; %s --help lists the flags", err, cmd.CommandPath())
	})
	root.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("unknown command %q; henge --help lists the commands", args[0])
		}
		return nil
	}
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.AddCommand(serverCommand(), sqlCommand(), ingestCommand(), streamCommand(), sampleCommand(), inspectCommand(), backupCommand(),
		restoreCommand(), importCommand(), keyCommand(), userCommand(), roleCommand())
	return root
}

// buildSuffix names the Go release the binary was built with.
func buildSuffix() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return " (" + info.GoVersion + ")"
	}
	return ""
}
