package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
)

func ingestCommand() *cobra.Command {
	o := &ingestOptions{clock: clock.System()}
	var server string
	cmd := &cobra.Command{
		Use:   "ingest FILE... --into DATASOURCE",
		Short: "Load files: look at them, guess their columns, show the SQL, run it",
		Long: `Load files of one kind into a datasource. The first file is looked at: its format (JSON lines, CSV or TSV, also
compressed), its columns and their types, and the column that holds the time. The SQL that follows from it is shown and run as a task,
so the next load can start from that SQL.

The server reads the files itself: they must lie where it runs.`,
		Example: `  henge ingest events.json --into events
  henge ingest 2026-*.csv.gz --into sales --time sold_at --time-format 'dd/MM/yyyy HH:mm' --partitioned-by MONTH
  henge ingest events.json --into events --replace --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return fault.InvalidInput("Name the files to load, for example: henge ingest events.json --into events")
			case o.into == "":
				return fault.InvalidInput("Name the datasource to load into, for example: henge ingest %s --into events", args[0])
			}
			o.client = newClient(server)
			o.out, o.err = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return o.run(cmd.Context(), args)
		},
	}
	cmd.Flags().StringVar(&o.into, "into", "", "datasource to load into")
	cmd.Flags().StringVar(&o.time, "time", "", "column that holds the time; guessed if not given")
	cmd.Flags().StringVar(&o.timeFormat, "time-format", "", "how it holds the time: iso, millis, posix or a pattern such as dd/MM/yyyy; guessed if not given")
	cmd.Flags().StringVar(&o.partitionedBy, "partitioned-by", "DAY", "time chunk of a segment: HOUR, DAY, MONTH, YEAR or ALL")
	cmd.Flags().BoolVar(&o.replace, "replace", false, "replace all data of the datasource instead of adding to it")
	cmd.Flags().Int64Var(&o.maxBad, "max-parse-exceptions", 0, "records that may be unreadable before the load fails; -1: any number")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "show the SQL and stop")
	cmd.Flags().StringVar(&server, "server", defaultServer, "address of the server")
	return cmd
}

type ingestOptions struct {
	client          *client
	clock           clock.Clock
	out, err        io.Writer
	into            string
	time            string
	timeFormat      string
	partitionedBy   string
	replace, dryRun bool
	maxBad          int64
	totalBytes      int64
}

func (o *ingestOptions) run(ctx context.Context, files []string) error {
	paths := make([]string, len(files))
	for i, f := range files {
		path, err := filepath.Abs(f)
		if err != nil {
			return fmt.Errorf("finding the path of [%s]: %w", f, err)
		}
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return fault.InvalidInput("File [%s] can't be read: %v", f, reasonOf(err))
		case info.IsDir():
			return fault.InvalidInput("[%s] is a folder; name the files in it, for example %s", f, filepath.Join(f, "*.json"))
		}
		paths[i] = path
		o.totalBytes += info.Size()
	}
	guess, err := sniffFile(ctx, paths[0])
	if err != nil {
		return err
	}
	statement, err := o.statement(guess, paths)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.err, "%s: %s, time in %s (looked at %s)\n\n", files[0], counted(int64(len(guess.Columns)), "column"), timeText(guess), counted(int64(guess.Rows), "record"))
	fmt.Fprintf(o.out, "%s\n", statement)
	if o.dryRun {
		return nil
	}
	return o.load(ctx, statement)
}

func timeText(g *ingest.Guess) string {
	if g.Time == "" {
		return "no column"
	}
	return fmt.Sprintf("%q (%s)", g.Time, g.TimeFormat)
}

func sniffFile(ctx context.Context, path string) (*ingest.Guess, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.InvalidInput("File [%s] can't be read: %v", path, reasonOf(err))
	}
	defer f.Close()
	return ingest.Sniff(ctx, path, f)
}

// statement writes the SQL of the load.
func (o *ingestOptions) statement(g *ingest.Guess, paths []string) (string, error) {
	if err := o.chooseTime(g); err != nil {
		return "", err
	}
	partitionedBy := strings.ToUpper(o.partitionedBy)
	timeSQL := g.TimeSQL()
	if timeSQL == "" {
		if partitionedBy != "ALL" {
			return "", fault.InvalidInput("No column looks like a time; name it with --time, or load without one with --partitioned-by ALL. The columns are %s", columnNames(g))
		}
		timeSQL = "TIMESTAMP '1970-01-01 00:00:00'"
	}
	source, err := json.Marshal(map[string]any{"type": "local", "files": paths})
	if err != nil {
		return "", fmt.Errorf("writing the input source: %w", err)
	}
	var b strings.Builder
	if o.replace {
		fmt.Fprintf(&b, "REPLACE INTO %s OVERWRITE ALL\n", quoteName(o.into))
	} else {
		fmt.Fprintf(&b, "INSERT INTO %s\n", quoteName(o.into))
	}
	fmt.Fprintf(&b, "SELECT\n  %s AS __time", timeSQL)
	for _, c := range g.Columns {
		if c.Name != g.Time && c.Name != "__time" {
			fmt.Fprintf(&b, ",\n  %s", quoteName(c.Name))
		}
	}
	fmt.Fprintf(&b, "\nFROM TABLE(EXTERN(\n  %s,\n  %s\n)) EXTEND (", quoteText(string(source)), quoteText(string(g.Format)))
	for i, c := range g.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %s", quoteName(c.Name), c.SQLType)
	}
	fmt.Fprintf(&b, ")\nPARTITIONED BY %s", partitionedBy)
	return b.String(), nil
}

// chooseTime makes what the user said of the time column go before what was guessed.
func (o *ingestOptions) chooseTime(g *ingest.Guess) error {
	if o.time == "" && g.Time == "" {
		if o.timeFormat != "" {
			return fault.InvalidInput("No column looks like a time, so --time-format needs --time. The columns are %s", columnNames(g))
		}
		return nil
	}
	if o.time != "" && o.time != g.Time {
		at := slices.IndexFunc(g.Columns, func(c ingest.GuessedColumn) bool { return c.Name == o.time })
		if at < 0 {
			return fault.InvalidInput("Time column [%s] is not in the file; its columns are %s", o.time, columnNames(g))
		}
		g.Time, g.TimeFormat = o.time, "iso"
		if g.Columns[at].SQLType == "BIGINT" {
			g.TimeFormat = "millis"
		}
	}
	if o.timeFormat != "" {
		g.TimeFormat = o.timeFormat
	}
	return nil
}

func columnNames(g *ingest.Guess) string {
	names := make([]string, len(g.Columns))
	for i, c := range g.Columns {
		names[i] = "[" + c.Name + "]"
	}
	return strings.Join(names, " ")
}

func quoteName(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func (o *ingestOptions) load(ctx context.Context, statement string) error {
	began := o.clock.Now()
	var submitted struct {
		TaskID string `json:"taskId"`
	}
	request := map[string]any{"query": statement, "context": map[string]any{"maxParseExceptions": o.maxBad, "waitUntilSegmentsLoad": true}}
	if err := o.client.call(ctx, http.MethodPost, "/service/v2/sql/task", request, &submitted); err != nil {
		return err
	}
	bar := &progressBar{w: o.err, clock: o.clock, began: began, total: o.totalBytes}
	var last taskProgress
	rows, err := watchTask(ctx, o.client, o.clock, submitted.TaskID, func(p taskProgress) {
		last = p
		bar.show(p)
	})
	bar.end()
	if err != nil {
		return err
	}
	took := o.clock.Now().Sub(began)
	fmt.Fprintf(o.err, "%s in %s (%s rows/s)", counted(rows, "row"), took.Round(time.Millisecond), grouped(int64(float64(rows)/max(took.Seconds(), 1e-3))))
	if last.unparseable > 0 {
		fmt.Fprintf(o.err, ", %s could not be read", counted(last.unparseable, "record"))
	}
	fmt.Fprintf(o.err, "\nAsk: henge sql -q 'SELECT COUNT(*) FROM %s'\n", quoteName(o.into))
	return nil
}

// progressBar redraws one line on a terminal; elsewhere it prints nothing.
type progressBar struct {
	w     io.Writer
	clock clock.Clock
	began time.Time
	total int64
	drawn bool
}

const barWidth = 30

func (b *progressBar) show(p taskProgress) {
	if !isTerminal(b.w) {
		return
	}
	seconds := b.clock.Now().Sub(b.began).Seconds()
	share := 0.0
	if b.total > 0 {
		share = min(float64(p.bytesRead)/float64(b.total), 1)
	}
	left := "--"
	if share > 0.01 {
		left = time.Duration(seconds / share * (1 - share) * float64(time.Second)).Round(time.Second).String()
	}
	full := int(share * barWidth)
	fmt.Fprintf(b.w, "\r[%s%s] %s rows, %s rows/s, %s left   ", strings.Repeat("=", full), strings.Repeat(" ", barWidth-full),
		grouped(p.rowsRead), grouped(int64(float64(p.rowsRead)/max(seconds, 1e-3))), left)
	b.drawn = true
}

func (b *progressBar) end() {
	if b.drawn {
		fmt.Fprintln(b.w)
	}
}

// grouped writes a number with thousands separators.
func grouped(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
