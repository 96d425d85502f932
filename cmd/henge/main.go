// Command henge is the whole product in one binary: the server in any set of roles, and the tools
// that load data and run queries.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hengedb/henge/cmd/henge/termtext"
	"github.com/hengedb/henge/internal/fault"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal does what signals do without us
	err := command().ExecuteContext(ctx)
	status := exitOf(err, ctx.Err() != nil)
	switch {
	case err == nil, errors.Is(err, errReported):
	case status == exitInterrupted:
		fmt.Fprintln(os.Stderr, "henge: interrupted")
	default:
		fmt.Fprintln(os.Stderr, "henge: "+termtext.HarmlessLines(messageOf(err)))
	}
	os.Exit(status)
}

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

func command() *cobra.Command {
	// No template is set anywhere here: text/template calls methods by name, and for that the linker
	// would keep every exported method of every type, a quarter of the binary.
	root := &cobra.Command{
		Use:   "henge",
		Short: "A real-time analytics store: events in, SQL answers out, in milliseconds",
		Long: `Henge is a real-time analytics store: events in, SQL answers out, in milliseconds.

To try it with sample data:

  henge server &
  henge sample --rows 100000 > events.json
  henge ingest events.json --into events
  henge sql -q "SELECT country, COUNT(*) AS n FROM events GROUP BY 1 ORDER BY 2 DESC LIMIT 5"`,
		Version:       versionText(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	commandSet(root)
	root.AddCommand(serverCommand(), sqlCommand(), topCommand(), ingestCommand(), streamCommand(), sampleCommand(), inspectCommand(),
		checkConfigCommand(), drainCommand(), manCommand(), backupCommand(), restoreCommand(), importCommand(), keyCommand(), userCommand(),
		roleCommand(), doctorCommand())
	checkUsage(root)
	return root
}
