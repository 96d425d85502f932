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
	"github.com/hengedb/henge/internal/timeline"
)

func ingestCommand() *cobra.Command {
	o := &ingestOptions{clock: clock.System()}
	var header string
	var who login
	var columns []string
	cmd := &cobra.Command{
		Use:   "ingest FILE... --into DATASOURCE",
		Short: "Load files: read them, choose their columns, show the SQL, run it",
		Long: `Load files into a datasource. A file is a path, a folder, a pattern in quotes, a URL (http, https, s3) or - for standard input.
All files of a load are of one kind: JSON, CSV, TSV, Parquet, ORC or Avro, also compressed (gzip, zstd, bzip2, xz, lz4, snappy, zip).
The kind is recognised by the content, not by the name.

The command reads all files once before it loads anything. It chooses types that hold every value unchanged: a column of numbers with one
value that is not a number is loaded as text, and so are codes such as 007, 5d, 1e5 or 1,50. Then it shows the SQL, which the next load can
start from, and runs it as a task. The load fails before it begins if a value would change or get lost; --on-misfit=null loads the rest.

The server reads the files itself where it runs on this machine. Otherwise this command hands them to it, and must run until the load ends.

A load that the datasource has already is refused, unless --append or --replace says what is meant.

With --live the rows of one input, JSON or CSV line by line, are sent as they come, and are in the answers of queries milliseconds later.
Each row counts once: what is sent again after a lost connection has its number in a channel, and the server knows which it has. A command
that was given a --channel goes on where it ended when it runs again with the same input.`,
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
				return fault.InvalidInput("Name the files to load, for example: henge ingest events.json --into events")
			case o.into == "":
				return fault.InvalidInput("Name the datasource to load into, for example: henge ingest %s --into events", args[0])
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
				return fault.InvalidInput("--channel is for rows that are sent as they come: it needs --live")
			}
			return o.run(cmd.Context(), args)
		},
	}
	cmd.Flags().StringVar(&o.into, "into", "", "datasource to load into")
	cmd.Flags().StringVar(&o.survey.Time, "time", "", "column that holds the time; chosen by its values if not given")
	cmd.Flags().StringVar(&o.survey.TimeFormat, "time-format", "",
		"how it holds the time: iso, posix (seconds), millis, micro, nano or a pattern such as dd/MM/yyyy; chosen by its values if not given")
	cmd.Flags().StringVar(&o.partitionedBy, "partitioned-by", "DAY", "time chunk of a segment: HOUR, DAY, MONTH, YEAR or ALL")
	cmd.Flags().StringArrayVar(&columns, "column", nil, "type of a column, as NAME=TYPE: VARCHAR, BIGINT, DOUBLE, FLOAT, JSON or an array such as 'BIGINT ARRAY'")
	cmd.Flags().StringVar(&header, "header", "auto", "whether the first row of CSV and TSV files holds the names: yes, no or auto")
	cmd.Flags().StringVar(&o.survey.Delimiter, "delimiter", "", "what separates the fields of CSV and TSV files; found if not given")
	cmd.Flags().StringVar(&o.onMisfit, "on-misfit", misfitFail,
		"what to do about values that can't be loaded unchanged: fail, or null to load the rest and print how many there were")
	cmd.Flags().Int64Var(&o.maxBad, "max-parse-exceptions", 0, "records that may be unreadable before the load fails; -1: any number")
	cmd.Flags().BoolVar(&o.replace, "replace", false, "replace all data of the datasource instead of adding to it")
	cmd.Flags().BoolVar(&o.again, "append", false, "add the files even if the datasource has them already")
	cmd.Flags().BoolVar(&o.live, "live", false, "send the rows as they come, instead of loading files as a task")
	cmd.Flags().StringVar(&o.channel, "channel", "",
		"name under which the server remembers how many rows of the input it has, with --live; random if not given")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "show the SQL and stop")
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
	channel        string
	maxBad         int64
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
		return fault.InvalidInput("--append and --replace exclude each other")
	}
	if d := o.survey.Delimiter; d == `\t` || d == "tab" {
		o.survey.Delimiter = "\t"
	} else if d == `"` || strings.ContainsAny(d, "\r\n") {
		return fault.InvalidInput("Value [%s] of --delimiter can't separate fields", d)
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
	bar := newReadBar(o.err, o.clock, files.bytes())
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
	name := ingest.Printable(files.list[0].name)
	if n := len(files.list); n > 1 {
		name += " and " + counted(int64(n-1), "file") + " more"
	}
	fmt.Fprintf(o.err, "%s: %s, %s, %s, time in %s\n", name, s.Kind, counted(int64(len(s.Columns)), "column"), counted(s.Records-s.Bad.Count, "record"), timeText(s))
	if s.Header {
		fmt.Fprintf(o.err, "The first row of each file is taken for the names of the columns (--header=no if it holds data).\n")
	}
	if s.OtherFormat != "" {
		fmt.Fprintf(o.err, "Note: that %q is %s is a guess, as all values are also times by %s. If that is meant, say --time-format '%s'.\n",
			ingest.Printable(s.Time), s.TimeFormat, s.OtherFormat, s.OtherFormat)
	}
	for _, note := range files.notes {
		fmt.Fprintf(o.err, "Note: %s\n", note)
	}
	for _, note := range s.Notes {
		fmt.Fprintf(o.err, "Note: %s\n", note)
	}
	if s.Time != "__time" && hasColumn(s, "__time") {
		fmt.Fprintf(o.err, "Note: Column \"__time\" of the files is not loaded, as %q is the time.\n", ingest.Printable(s.Time))
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
	return fmt.Sprintf("%q (%s)", ingest.Printable(s.Time), s.TimeFormat)
}

// refuse ends a load that would change or lose something, unless the user said that it may.
func (o *ingestOptions) refuse(s *ingest.Survey) error {
	if s.Bad.Count > 0 && o.maxBad >= 0 && s.Bad.Count > o.maxBad {
		return fault.InvalidInput("Nothing was loaded: %s can't be read; %s. --max-parse-exceptions says how many may be left out",
			counted(s.Bad.Count, "record"), s.Bad.At())
	}
	if s.Bad.Count > 0 {
		fmt.Fprintf(o.err, "%s can't be read and will be left out; %s.\n", counted(s.Bad.Count, "record"), s.Bad.At())
	}
	if len(s.Problems) == 0 {
		return nil
	}
	if o.onMisfit == misfitNull {
		for _, p := range s.Problems {
			fmt.Fprintf(o.err, "Loaded all the same: %s.\n", p)
		}
		return nil
	}
	return fault.InvalidInput("Nothing was loaded, because it would not be what the files hold:\n  %s\nMend the files, give a column another type with "+
		"--column, or say --on-misfit=null to load the rest: what does not fit is then NULL", strings.Join(s.Problems, "\n  "))
}
