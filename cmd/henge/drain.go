package main

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

// drainAgain is how often a worker is asked what it still runs.
const drainAgain = 200 * time.Millisecond

func drainCommand() *cobra.Command {
	who := &login{}
	var patience time.Duration
	cmd := &cobra.Command{
		Use:   "drain",
		Short: "Drain a worker before you stop it: it gets no new tasks, and its tasks end",
		Long: `Drain a worker before you stop it: it gets no new tasks, and the command waits until its tasks have ended.

Tasks that read a stream end when their supervisor ends them, so they can take longer than the wait. If you stop a worker that has tasks,
they continue on other workers; draining only avoids repeated work. The worker accepts tasks again after a restart.`,
		Example: "  henge drain --server http://localhost:8091 --wait 5m",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if patience < 0 {
				return fault.InvalidInput("Time [%s] to wait is negative", patience)
			}
			c, err := who.client(cmd)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if err := c.call(ctx, http.MethodPost, "/service/worker/v1/disable", nil, nil); err != nil {
				return err
			}
			system := clock.System()
			for until := system.Now().Add(patience); ; {
				var tasks []string
				if err := c.call(ctx, http.MethodGet, "/service/worker/v1/tasks", nil, &tasks); err != nil {
					return err
				}
				if len(tasks) == 0 {
					fmt.Fprintln(cmd.OutOrStdout(), "The worker is drained: it runs no tasks, and gets no new ones.")
					return nil
				}
				if !system.Now().Before(until) {
					fmt.Fprintf(cmd.OutOrStdout(), "The worker gets no new tasks. It still runs %q.\n", tasks)
					return errReported
				}
				if err := system.Sleep(ctx, drainAgain); err != nil {
					return errors.Join(err, ctx.Err())
				}
			}
		},
	}
	who.add(cmd.Flags(), "address of the worker (its own port, 8091 unless set otherwise)")
	cmd.Flags().DurationVar(&patience, "wait", 5*time.Minute, "how long to wait for its tasks")
	return cmd
}
