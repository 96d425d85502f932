package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/timeline"
)

func ingestCommand() *cobra.Command {
	o := &ingestOptions{clock: clock.System()}
	var header string
	var who login
	var columns []string
	cmd := &cobra.Command{
		Use:   "ingest FILE... --into DATASOURCE",
		Short: "Load files: detect their columns, print the SQL, and run it",
		Long: `Load files into a datasource. A file is a path, a folder, a pattern in quotes, a URL (http, https, s3) or - for standard input.
All files of a load must have one format: JSON, CSV, TSV, Parquet, ORC, Avro or Arrow streams, also compressed (gzip, zstd, bzip2, xz,
lz4, snappy, zip). The format is detected from the contents, not from the name.

The command reads all files once before it loads anything. It chooses types that hold every value unchanged: a column of numbers with one
value that is not a number is loaded as VARCHAR, and so are codes such as 007, 5d, 1e5 or 1,50. Then it prints the SQL statement, which you
can edit and reuse, and runs it as a task. If a value would change or be lost, nothing is loaded; --on-misfit=null loads it as NULL.

If the server runs on this machine, it reads the files itself. Otherwise the command sends them, and must run until the load ends.

Files that were loaded into the datasource before are rejected, unless --append or --replace is given.

With --live the command sends the rows of one input, JSON or CSV line by line, as they arrive; queries see them milliseconds later.
Each row counts once: rows are numbered in a channel, and the server ignores numbers that it has already. With --channel, a command
that runs again with the same input continues where it stopped.`,
		Example: `  henge ingest events.json --into events
  henge ingest 2026-*.csv.gz --into sales --time sold_at --time-format 'dd/MM/yyyy HH:mm' --partitioned-by MONTH
  henge ingest exports/ --into visits --replace
  henge ingest 'logs/**/*.parquet' --into logs
  henge ingest https://example.org/flights.json.gz --into flights
  psql -c '\copy t to stdout csv header' | henge ingest - --into t --column zip=VARCHAR
  henge ingest events.json --into events --replace --dry-run
  tail -F -n +1 app.log.json | henge ingest - --into logs --live --channel app-log
  henge sample --rate 1000 | henge ingest - --into events --live`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return fault.InvalidInput("Files to load are missing; for example: henge ingest events.json --into events")
			case o.into == "":
				return fault.InvalidInput("Flag [--into] is missing; for example: henge ingest %s --into events", args[0])
			}
			if refusal := timeline.DataSourceRefusal("into", o.into); refusal != "" {
				return fault.InvalidInput("%s", refusal)
			}
			if err := o.check(header, columns); err != nil {
				return err
			}
			var err error
			if o.client, err = who.client(cmd); err != nil {
				return err
			}
			o.in, o.out, o.err = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			if o.live {
				return o.runLive(cmd.Context(), args, cmd.Flags().Changed)
			}
			if cmd.Flags().Changed("channel") {
				return fault.InvalidInput("--channel needs --live")
			}
			return o.run(cmd.Context(), args)
		},
	}
	cmd.Flags().StringVar(&o.into, "into", "", "datasource to load into")
	cmd.Flags().StringVar(&o.survey.Time, "time", "", "time column (default: detected from the values)")
	cmd.Flags().StringVar(&o.survey.TimeFormat, "time-format", "",
		"format of the time column: iso, posix (seconds), millis, micro, nano or a pattern such as dd/MM/yyyy (default: detected)")
	cmd.Flags().StringVar(&o.partitionedBy, "partitioned-by", "DAY", "time chunk of a segment: HOUR, DAY, MONTH, YEAR or ALL")
	cmd.Flags().StringArrayVar(&columns, "column", nil, "type of a column, as NAME=TYPE: VARCHAR, BIGINT, DOUBLE, FLOAT, JSON or an array such as 'BIGINT ARRAY'")
	cmd.Flags().StringVar(&header, "header", "auto", "whether the first row of CSV and TSV files is a header: yes, no or auto")
	cmd.Flags().StringVar(&o.survey.Delimiter, "delimiter", "", "delimiter of CSV and TSV files (default: detected)")
	cmd.Flags().StringVar(&o.onMisfit, "on-misfit", misfitFail,
		"how to treat values that would change: fail, or null to load them as NULL and print their number")
	cmd.Flags().Int64Var(&o.maxBad, "max-parse-exceptions", 0, "maximum number of unreadable records before the load fails; -1: no limit")
	cmd.Flags().BoolVar(&o.replace, "replace", false, "replace all data of the datasource")
	cmd.Flags().BoolVar(&o.again, "append", false, "load the files even if they were loaded before")
	cmd.Flags().BoolVar(&o.live, "live", false, "send rows as they arrive, instead of loading files as a task")
	cmd.Flags().StringVar(&o.channel, "channel", "",
		"with --live: channel in which the server counts the rows of the input (default: random)")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the SQL and stop")
	who.add(cmd.Flags(), "address of the server")
	return cmd
}

// What --on-misfit says.
const (
	misfitFail = "fail"
	misfitNull = "null"
)

type ingestOptions struct {
	client         *client
	clock          clock.Clock
	in             io.Reader
	out, err       io.Writer
	into           string
	survey         ingest.SurveyOptions
	partitionedBy  string
	onMisfit       string
	replace, again bool
	dryRun, live   bool
	// copies says that \copy loads: without a time all rows are of one chunk.
	copies  bool
	channel string
	maxBad  int64
}

// check reads the flags whose values have a form.
func (o *ingestOptions) check(header string, columns []string) error {
	switch header {
	case "auto":
	case "yes", "no":
		yes := header == "yes"
		o.survey.Header = &yes
	default:
		return fault.InvalidInput("Value [%s] of --header is unknown; use yes, no or auto", header)
	}
	if o.onMisfit != misfitFail && o.onMisfit != misfitNull {
		return fault.InvalidInput("Value [%s] of --on-misfit is unknown; use fail or null", o.onMisfit)
	}
	if o.replace && o.again {
		return fault.InvalidInput("--append and --replace cannot be used together")
	}
	if d := o.survey.Delimiter; d == `\t` || d == "tab" {
		o.survey.Delimiter = "\t"
	} else if d == `"` || strings.ContainsAny(d, "\r\n") {
		return fault.InvalidInput("Value [%s] of --delimiter is not a valid delimiter", d)
	}
	o.survey.Types = map[string]string{}
	for _, text := range columns {
		name, sqlType, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return fault.InvalidInput("Value [%s] of --column is not of the form NAME=TYPE", text)
		}
		o.survey.Types[name] = sqlType
	}
	return nil
}

func (o *ingestOptions) run(ctx context.Context, args []string) (err error) {
	files, err := o.expand(ctx, args)
	defer func() {
		if closeErr := files.close(); err == nil {
			err = closeErr
		}
	}()
	if err != nil {
		return err
	}
	found, err := o.read(ctx, files)
	if err != nil {
		return err
	}
	o.describe(files, found)
	if o.dryRun {
		statement, err := o.statement(found, files.source())
		if err != nil {
			return err
		}
		for _, p := range found.Problems {
			fmt.Fprintf(o.err, "Problem: %s.\n", p)
		}
		fmt.Fprintf(o.out, "%s\n", statement)
		return nil
	}
	if found.Records == 0 {
		return fault.InvalidInput("There is nothing to load: the files have a header, but no rows")
	}
	if err := o.refuse(found); err != nil {
		return err
	}
	source, done, err := o.reach(ctx, files)
	if err != nil {
		return err
	}
	defer done()
	statement, err := o.statement(found, source)
	if err != nil {
		return err
	}
	if err := o.refuseSecond(ctx, files); err != nil {
		return err
	}
	fmt.Fprintf(o.out, "%s\n", statement)
	return o.load(ctx, statement, files, found)
}

// read surveys the files.
func (o *ingestOptions) read(ctx context.Context, files *inputFiles) (*ingest.Survey, error) {
	bar := newReadBar(o.err, o.clock, "reading", files.bytes())
	defer bar.end()
	o.survey.Progress = bar.show
	s, err := ingest.NewSurveyor(o.survey)
	if err != nil {
		return nil, err
	}
	for _, f := range files.list {
		if err := s.Add(ctx, f.name, f.entity); err != nil {
			return nil, err
		}
	}
	return s.Result()
}

// describe says what the files were found to hold.
func (o *ingestOptions) describe(files *inputFiles, s *ingest.Survey) {
	name := record.Printable(files.list[0].name)
	if n := len(files.list); n > 1 {
		name += " and " + counted(int64(n-1), "file") + " more"
	}
	fmt.Fprintf(o.err, "%s: %s, %s, %s, time in %s\n", name, s.Kind, counted(int64(len(s.Columns)), "column"), counted(s.Records-s.Bad.Count, "record"), timeText(s))
	if s.Header {
		fmt.Fprintf(o.err, "The first row of each file is used as header (use --header=no if it is data).\n")
	}
	if s.OtherFormat != "" {
		fmt.Fprintf(o.err, "Note: the format of %q is a guess: all values are %s, but also %s. To use the latter, set --time-format '%s'.\n",
			record.Printable(s.Time), s.TimeFormat, s.OtherFormat, s.OtherFormat)
	}
	for _, note := range files.notes {
		fmt.Fprintf(o.err, "Note: %s\n", note)
	}
	for _, note := range s.Notes {
		fmt.Fprintf(o.err, "Note: %s\n", note)
	}
	if s.Time != "__time" && hasColumn(s, "__time") {
		fmt.Fprintf(o.err, "Note: Column \"__time\" of the files is not loaded, because %q is the time column.\n", record.Printable(s.Time))
	}
	fmt.Fprintln(o.err)
}

func hasColumn(s *ingest.Survey, name string) bool {
	for _, c := range s.Columns {
		if c.Name == name {
			return true
		}
	}
	return false
}

func timeText(s *ingest.Survey) string {
	if s.Time == "" {
		return "no column"
	}
	return fmt.Sprintf("%q (%s)", record.Printable(s.Time), s.TimeFormat)
}

// refuse ends a load that would change or lose something, unless the user said that it may.
func (o *ingestOptions) refuse(s *ingest.Survey) error {
	if s.Bad.Count > 0 && o.maxBad >= 0 && s.Bad.Count > o.maxBad {
		return fault.InvalidInput("Nothing was loaded: %s can't be read; %s. --max-parse-exceptions sets the number of records that may be "+
			"skipped",
			counted(s.Bad.Count, "record"), s.Bad.At())
	}
	if s.Bad.Count > 0 {
		fmt.Fprintf(o.err, "%s can't be read and will be skipped; %s.\n", counted(s.Bad.Count, "record"), s.Bad.At())
	}
	if len(s.Problems) == 0 {
		return nil
	}
	if o.onMisfit == misfitNull {
		for _, p := range s.Problems {
			fmt.Fprintf(o.err, "Loaded with --on-misfit=null: %s.\n", p)
		}
		return nil
	}
	return fault.InvalidInput("Nothing was loaded, because values of the files would change:\n  %s\nCorrect the files, set the type of a "+
		"column with "+
		"--column, or use --on-misfit=null to load these values as NULL", strings.Join(s.Problems, "\n  "))
}
