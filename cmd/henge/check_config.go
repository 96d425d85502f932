package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/role"
)

// connectPatience is how long stores may take to answer.
const connectPatience = 20 * time.Second

func checkConfigCommand() *cobra.Command {
	var where settingFlags
	var connect bool
	cmd := &cobra.Command{
		Use:   "check-config [role ...]",
		Short: "Check the settings of a server without starting it",
		Long: `Check the settings of a server without starting it.

The command checks names and values of all settings, then folders, ports, certificates, and data directories. It reports every problem,
not only the first. With --connect it also connects to the metadata store and to an S3 bucket. It writes nothing, and a server can run
meanwhile.

The exit status is 1 if a server with these settings would not start.`,
		Example: `  henge check-config --config /etc/henge/henge.properties
  henge check-config historical --config /etc/henge/cluster.properties --connect`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return checkConfig(cmd, where, args, connect)
		},
	}
	where.add(cmd)
	cmd.Flags().BoolVar(&connect, "connect", false, "also connect to the metadata store and to deep storage in S3")
	return cmd
}

func checkConfig(cmd *cobra.Command, where settingFlags, args []string, connect bool) error {
	out := cmd.OutOrStdout()
	roles, err := role.ParseRoles(args)
	if err != nil {
		return err
	}
	settings, err := where.load()
	if err != nil {
		f := fault.Find(err)
		if f == nil {
			return err
		}
		for line := range strings.SplitSeq(f.Message, "\n") {
			fmt.Fprintf(out, "problem  settings: %s\n", line)
		}
		return errReported
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), connectPatience)
	defer cancel()
	o := role.Options{Settings: settings, Roles: roles, Version: version, Clock: clock.System(), Log: slog.New(slog.DiscardHandler)}
	problems, warnings := 0, 0
	for _, f := range role.Check(ctx, o, connect) {
		switch {
		case f.Problem != "":
			problems++
			fmt.Fprintf(out, "problem  %s: %s\n", f.About, f.Problem)
		case f.Warning != "":
			warnings++
			fmt.Fprintf(out, "warning  %s: %s\n", f.About, f.Warning)
		default:
			fmt.Fprintf(out, "ok       %s: %s\n", f.About, f.Fine)
		}
	}
	if cmd.Context().Err() != nil {
		return cmd.Context().Err()
	}
	fmt.Fprintf(out, "Problems: %d. Warnings: %d.\n", problems, warnings)
	if problems > 0 {
		return errReported
	}
	return nil
}

// listSettings prints every property with the value that a server with these flags would have.
func listSettings(cmd *cobra.Command, where settingFlags) error {
	settings, err := where.load()
	if err != nil {
		return err
	}
	var failed error
	for _, l := range settings.Lines() {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), l)
		failed = errors.Join(failed, err)
	}
	if failed != nil {
		return fault.Runtime("The list cannot be written: %v", failed)
	}
	return nil
}
