package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/fault"
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

With roles (router, broker, coordinator, overlord, historical, worker) the process is one of a cluster. All its processes share a
metastore (service.metadata.storage.type=postgresql) and deep storage, and each has a data directory of its own.

Without settings it listens on the loopback interface only, on the ports of the interface: Router 8888, Coordinator 8081, Broker 8082,
Historical 8083, Overlord 8090, worker 8091. It stops gracefully on SIGTERM and Ctrl-C; a second one stops it at once.

Settings are properties. They come, later ones winning, from files, from the environment (service_broker_plaintextPort=0 for
service.broker.plaintextPort) and from --set. --list-settings prints them all.`,
		Example: `  henge server
  henge server --data /var/lib/henge --config common.runtime.properties
  henge server --secure
  henge server historical --set service.host=h1.example.com --config common.runtime.properties
  henge server --set service.api.aliases='["druid"]' --set service.memory.limit=4GiB`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				return listSettings(cmd)
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
			budget.SpareThread()
			n, err := role.Start(cmd.Context(), role.Options{Settings: settings, Roles: roles, Version: version, Clock: clock.System(), Log: log})
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), readyLine(n))
			if made != nil {
				fmt.Fprintln(cmd.OutOrStdout(), made.tell(n.Addresses()[0].URL()))
			}
			return n.Wait(cmd.Context())
		},
	}
	where.add(cmd)
	cmd.Flags().BoolVar(&fresh, "new-metastore", false, "begin with an empty metastore where the file is missing, although deep storage has segments")
	cmd.Flags().BoolVar(&secured, "secure", false,
		"HTTPS in place of HTTP, and passwords: a certificate and a password for user admin are made at the first start")
	cmd.Flags().BoolVar(&list, "list-settings", false, "print all properties with their defaults and stop")
	return cmd
}

// settingFlags are the flags by which commands find the settings of a server, and so its stores.
type settingFlags struct {
	data       string
	files, set []string
}

func (f *settingFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.data, "data", "", "data directory (default ./henge-data)")
	cmd.Flags().StringArrayVar(&f.files, "config", nil, "properties file; may be repeated, later ones win")
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

func listSettings(cmd *cobra.Command) error {
	for _, p := range config.Properties {
		fallback := p.Default
		if p.Secret {
			fallback = ""
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s=%s\n    %s (%s)\n", p.Key, fallback, p.Doc, p.Kind); err != nil {
			return fault.Runtime("The list can't be written: %v", err)
		}
	}
	return nil
}
