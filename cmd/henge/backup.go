package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/hengedb/henge/internal/backup"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/durable"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/role"
)

func backupCommand() *cobra.Command {
	var where settingFlags
	var o backup.WriteOptions
	var secrets bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Back up the metastore, the settings and optionally the segments into one file",
		Long: `Back up the metastore, as it is at one moment, and the settings into one file.

The server can keep running. The command accepts the settings of 'henge server': the data directory (SQLite), or the database and deep
storage that the settings name. With --with-segments the backup also contains the segment files of deep storage. Without it, back up
deep storage yourself, after this backup: files in deep storage never change, so the copy matches the backup.

Only the owner can read the file. It contains no secret settings unless --with-secrets is given, but everything that the metastore
contains. 'henge restore' restores it into SQLite or PostgreSQL.`,
		Example: `  henge backup henge-2026-03-01.backup
  henge backup --data /var/lib/henge --with-segments all.backup
  henge backup --config common.runtime.properties --overwrite nightly.backup`,
		Args: exactly("the backup file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			settings, err := where.load()
			if err != nil {
				return err
			}
			if err := checkDirectory(settings); err != nil {
				return err
			}
			stores, err := role.OpenStores(settings, false)
			if err != nil {
				return err
			}
			line := &statusLine{w: cmd.ErrOrStderr(), clock: clock.System()}
			o.Metastore, o.Deep, o.Settings, o.Release, o.Clock = stores.Metastore, stores.Deep, settings.Properties(secrets), version, clock.System()
			o.Progress = line.show
			summary, err := backup.Write(cmd.Context(), args[0], o)
			line.end()
			if err = errors.Join(err, stores.Close()); err != nil {
				return err
			}
			return writeSummary(cmd.OutOrStdout(), args[0], *summary, o.Segments)
		},
	}
	where.add(cmd)
	cmd.Flags().BoolVar(&o.Segments, "with-segments", false, "also back up the segment files of deep storage")
	cmd.Flags().BoolVar(&secrets, "with-secrets", false, "include the values of secret settings")
	cmd.Flags().BoolVar(&o.Overwrite, "overwrite", false, "replace FILE if it exists")
	return cmd
}

func restoreCommand() *cobra.Command {
	var where settingFlags
	var o backup.RestoreOptions
	var check bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore a backup: metastore, settings and segments",
		Long: `Restore a backup: metastore, settings and segments.

Stop all processes first. The command accepts the settings of 'henge server'. The type of the metastore and of deep storage may differ from
the backup. The command verifies the whole file before it writes anything. It rejects a metastore that is not empty, unless
--replace is given, which deletes the old contents.

The settings of the backup are written to restored.properties in the data directory for reference; they are not used. A backup without
segments needs its deep storage, in the same location or copied to the location in the settings.

Tasks that were running at the time of the backup start again, as after a crash.`,
		Example: `  henge restore --check henge-2026-03-01.backup
  henge restore --data /var/lib/henge henge-2026-03-01.backup
  henge restore --config common.runtime.properties --replace nightly.backup`,
		Args: exactly("the backup file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			line := &statusLine{w: cmd.ErrOrStderr(), clock: clock.System()}
			o.Progress = line.show
			if check {
				content, err := backup.Check(cmd.Context(), args[0], o.Progress)
				line.end()
				if err != nil {
					return err
				}
				m := content.Manifest
				fmt.Fprintf(cmd.OutOrStdout(), "Made at %s by release %s, of %s with schema version %d; it is complete.\n",
					chrono.FormatMillis(m.Created, nil), m.Release, m.Source.Database, m.Source.Schema)
				return writeSummary(cmd.OutOrStdout(), args[0], content.Summary, m.Segments)
			}
			settings, err := where.load()
			if err != nil {
				return err
			}
			return restore(cmd, args[0], settings, o, line)
		},
	}
	where.add(cmd)
	cmd.Flags().BoolVar(&o.Replace, "replace", false, "replace the contents of the metastore")
	cmd.Flags().BoolVar(&check, "check", false, "only verify that the backup is complete")
	return cmd
}

func restore(cmd *cobra.Command, file string, settings *config.Settings, o backup.RestoreOptions, line *statusLine) (err error) {
	stores, err := role.OpenStores(settings, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stores.Close()) }()
	o.Metastore, o.Deep = stores.Metastore, stores.Deep
	o.Metastore.Release = version
	done, err := backup.Restore(cmd.Context(), file, o)
	line.end()
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if err := writeSummary(out, file, done.Summary, done.Manifest.Segments); err != nil {
		return err
	}
	if done.Absent > 0 {
		fmt.Fprintf(out, "Deep storage does not have %s, for example [%s]: copy them there before you start the server.\n",
			counted(done.Absent, "segment file"), done.AbsentKey)
	}
	if done.Settings == "" {
		return nil
	}
	path := filepath.Join(stores.Dir, "restored.properties")
	if err := durable.WriteFile(path, []byte(done.Settings), 0o600); err != nil {
		return fault.Runtime("The metastore is restored, but the settings cannot be written to [%s]", path).WithCause(err)
	}
	fmt.Fprintf(out, "The settings are in %s.\n", path)
	return nil
}

// checkDirectory refuses a data directory that is not there, which a server would create, where
// something of what is asked for is in it: with a database and deep storage elsewhere nothing is.
func checkDirectory(settings *config.Settings) error {
	elsewhere := settings.Text("service.storage.type") != "local" || settings.Text("service.storage.storageDirectory") != ""
	if settings.Text("service.metadata.storage.type") != "sqlite" && elsewhere {
		return nil
	}
	dir := settings.Text("service.data.dir")
	if _, err := os.Stat(dir); err != nil {
		return fault.NotFound("There is no data directory [%s]; name it with --data or service.data.dir", dir)
	}
	return nil
}

func writeSummary(w io.Writer, file string, s backup.Summary, segments bool) error {
	rows := int64(0)
	for _, n := range s.Rows {
		rows += n
	}
	_, err := fmt.Fprintf(w, "%s: %s of the metastore, %s", file, counted(rows, "row"), counted(s.Rows["segments"], "segment"))
	if segments {
		_, err = fmt.Fprintf(w, ", %s (%s bytes)", counted(s.Files, "segment file"), grouped(s.FileBytes))
	}
	fmt.Fprintln(w)
	if len(s.Missing) > 0 {
		fmt.Fprintf(w, "Deep storage no longer had %s of the metastore, for example [%s].\n",
			counted(int64(len(s.Missing)), "segment file"), s.Missing[0])
	}
	return err
}

// statusLine shows on a terminal how far a step is, and elsewhere nothing.
type statusLine struct {
	w     io.Writer
	clock clock.Clock
	last  time.Time
	drawn int
}

// statusPeriod is how often the line changes.
const statusPeriod = 100 * time.Millisecond

func (s *statusLine) show(step string, done, total int64) {
	now := s.clock.Now()
	if !isTerminal(s.w) || now.Sub(s.last) < statusPeriod {
		return
	}
	s.last = now
	text := grouped(done) + " " + step
	if total > 0 {
		text = fmt.Sprintf("%s of %s %s (%d%%)", grouped(done), grouped(total), step, done*100/total)
	}
	fmt.Fprintf(s.w, "\r%-*s", s.drawn, text)
	s.drawn = len(text)
}

func (s *statusLine) end() {
	if s.drawn > 0 {
		fmt.Fprintf(s.w, "\r%-*s\r", s.drawn, "")
	}
}

// isTerminal reports whether somebody watches.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
