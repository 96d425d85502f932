package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hengedb/henge/cmd/henge/sdnotify"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/role"
)

func serverCommand() *cobra.Command {
	var where settingFlags
	var list, fresh, secured bool
	cmd := &cobra.Command{
		Use:   "server [role ...]",
		Short: "Run the server: all roles in one process on a data directory, or some roles of a cluster",
		Long: `Run the server: all roles in one process, on a data directory that holds the metastore (SQLite), deep storage and caches.

With roles (router, broker, coordinator, overlord, historical, worker) the process is part of a cluster. All processes share a
metastore (service.metadata.storage.type=postgresql) and deep storage, and each has its own data directory.

By default it listens on the loopback interface only, on these ports: Router 8888, Coordinator 8081, Broker 8082,
Historical 8083, Overlord 8090, worker 8091. It stops gracefully on SIGTERM and Ctrl-C; a second signal stops it immediately.

Settings are properties. --set takes precedence over the environment (service_broker_plaintextPort=0 for
service.broker.plaintextPort), and this over files. --list-settings prints all settings with their values; henge check-config checks them.`,
		Example: `  henge server
  henge server --data /var/lib/henge --config common.runtime.properties
  henge server --secure
  henge server historical --set service.host=h1.example.com --config common.runtime.properties
  henge server --set service.api.aliases='["druid"]' --set service.memory.limit=4GiB`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if list {
				return listSettings(cmd, where)
			}
			roles, err := role.ParseRoles(args)
			if err != nil {
				return err
			}
			if fresh {
				where.set = append(where.set, "service.metadata.storage.startNew=true")
			}
			settings, err := where.load()
			if err != nil {
				return err
			}
			var made *protection
			if secured {
				if made, settings, err = where.secure(settings, roles); err != nil {
					return err
				}
			}
			log, err := obs.NewLogger(cmd.ErrOrStderr(), obs.LogOptions{Level: settings.Text("service.log.level"), Format: settings.Text("service.log.format")})
			if err != nil {
				return err
			}
			slog.SetDefault(log) // what libraries say has the same form
			say := sayer(cmd.OutOrStdout(), settings.Text("service.log.format"))
			if settings.Text("service.log.format") == "json" {
				defer func() { err = loggedFailure(log, err) }()
			}
			budget.SpareThread()
			at, _ := revision()
			n, err := role.Start(cmd.Context(), role.Options{
				Settings: settings, Roles: roles, Version: version, Revision: at, Clock: clock.System(), Log: log,
			})
			if err != nil {
				return err
			}
			say(readyLine(n))
			defer sdnotify.States(cmd.Context(), readyLine(n))()
			if made != nil {
				say(made.tell(n.Addresses()[0].URL()))
			}
			return n.Wait(cmd.Context())
		},
	}
	where.add(cmd)
	cmd.Flags().BoolVar(&fresh, "new-metastore", false, "create an empty metastore if its file is missing, even if deep storage has segments")
	cmd.Flags().BoolVar(&secured, "secure", false,
		"use HTTPS and passwords: the first start creates a certificate and a password for user admin")
	cmd.Flags().BoolVar(&list, "list-settings", false, "print all settings with their values and the sources of these, and stop")
	return cmd
}

// settingFlags are the flags by which commands find the settings of a server, and so its stores.
type settingFlags struct {
	data       string
	files, set []string
}

func (f *settingFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.data, "data", "", "data directory (default ./henge-data)")
	cmd.Flags().StringArrayVar(&f.files, "config", nil, "properties file; may be repeated, later files take precedence")
	cmd.Flags().StringArrayVar(&f.set, "set", nil, "property as key=value; may be repeated")
}

func (f *settingFlags) load() (*config.Settings, error) {
	set := f.set
	if f.data != "" {
		set = append(slices.Clip(set), "service.data.dir="+f.data)
	}
	return config.Load(config.Sources{Files: f.files, Environ: os.Environ(), Flags: set})
}

// readyLine tells where the process answers.
func readyLine(n *role.Node) string {
	var parts []string
	for _, a := range n.Addresses() {
		parts = append(parts, a.Role+" "+a.URL())
	}
	return fmt.Sprintf("henge %s ready in %s: %s", version, n.StartTook(), strings.Join(parts, ", "))
}

// sayer returns what prints a message of a start for whoever waits for it: as a line, or with a log
// in JSON as a record, which log shippers read. The password that is made at a first start is in
// one, so records are not masked.
func sayer(out io.Writer, format string) func(text string) {
	if format != "json" {
		return func(text string) { fmt.Fprintln(out, text) }
	}
	log := slog.New(slog.NewJSONHandler(out, nil))
	return func(text string) { log.Info(text) }
}

// loggedFailure writes why a server does not start, or stops, as a record of the log.
func loggedFailure(log *slog.Logger, err error) error {
	if err == nil || errors.Is(err, errReported) || errors.Is(err, context.Canceled) {
		return err
	}
	log.Error("server failed", "error", messageOf(err))
	return &reportedError{err}
}
