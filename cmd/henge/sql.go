package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hengedb/henge/cmd/henge/script"
	"github.com/hengedb/henge/cmd/henge/termtext"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/querycontext"
)

func sqlCommand() *cobra.Command {
	s := &session{clock: clock.System()}
	var query string
	var device bool
	var who login
	var files localOptions
	cmd := &cobra.Command{
		Use:   "sql [URL] [SCRIPT] [DATA...]",
		Short: "Run SQL: one query, a file of statements, or a prompt",
		Long: `Run SQL: one query (-q), a file of statements separated by semicolons (- for standard input), or, without either, a prompt or
the piped input. \? lists the commands of the prompt, which scripts may use too.

INSERT and REPLACE statements run as tasks; the command waits for their end.

Data files need no server: CSV, TSV, JSON, Parquet, ORC and Avro, also compressed. Each DATA, which may be a folder or a quoted pattern,
is a table named by its base name; FROM 'path' in a statement reads a file. Files are read in place. Columns and types are those that
hold every value unchanged: the whole file is read to find them, or the schema of Parquet and ORC.`,
		Example: `  henge sql -q "SELECT COUNT(*) FROM events"
  henge sql -q "SELECT * FROM events LIMIT 10" --format csv > rows.csv
  henge sql -q "SELECT * FROM events" --format arrow > rows.arrows
  henge sql report.sql
  henge sql https://henge.example.org
  henge sql -q "SELECT status, COUNT(*) FROM 'logs/*.json.gz' GROUP BY 1"
  henge sql sales.parquet
  henge sql`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			s.out, s.err = cmd.OutOrStdout(), cmd.ErrOrStderr()
			if s.json {
				s.format = "json"
				defer func() {
					if err != nil && !errors.Is(err, errReported) {
						jsonError(s.err, err)
						err = &reportedError{err}
					}
				}()
			}
			a, err := sqlArguments(cmd, args, query, &files)
			if err != nil {
				return fmt.Errorf("%w%w", errUsage, err)
			}
			if a.local {
				if err := who.configure(cmd); err != nil {
					return err
				}
				run, err := files.open(a.data, cmd.InOrStdin(), s.err, s.clock)
				if err != nil {
					return fmt.Errorf("%w%w", errUsage, err)
				}
				defer func() {
					if failed := run.close(); err == nil {
						err = failed
					}
				}()
				s.client, s.local = run.client, run.tables
				return s.start(cmd, a, query)
			}
			if a.address != "" {
				who.server, who.addressed = a.address, true
			}
			if s.client, err = who.client(cmd); err != nil {
				return err
			}
			if device {
				if err := s.client.logInByDevice(cmd.Context(), s.err); err != nil {
					return err
				}
			}
			return s.start(cmd, a, query)
		},
	}
	cmd.Flags().StringVarP(&query, "query", "q", "", "the query to run")
	cmd.Flags().StringVar(&s.format, "format", "table", "output format: "+strings.Join(formatNames(), ", "))
	cmd.Flags().BoolVar(&s.json, "json", false, "print results like --format json, and errors as JSON objects")
	cmd.Flags().BoolVar(&device, "login", false, "first log in at the server's OpenID Connect provider; later commands stay logged in")
	cmd.Flags().BoolVar(&s.timing, "timing", false, "print how long each statement took")
	files.add(cmd.Flags())
	who.add(cmd.Flags(), "address of the server (its Router or Broker)")
	return cmd
}

// sqlArgs are the arguments of henge sql by what they are.
type sqlArgs struct {
	address, script string
	text            string // of the script, once it was read
	data            []string
	local           bool
}

// sqlArguments sorts the arguments of henge sql.
func sqlArguments(cmd *cobra.Command, args []string, query string, files *localOptions) (a sqlArgs, err error) {
	asked := cmd.Flags().Changed("query")
	for _, arg := range args {
		switch {
		case isAddress(arg) && a.address == "":
			a.address = arg
		case arg != "-" && isData(arg), arg == "-" && asked, asked && !isAddress(arg):
			a.data = append(a.data, arg)
		case a.script == "":
			a.script = arg
		default:
			return a, fault.InvalidInput("Only one file of statements is allowed, but [%s] and [%s] were given", a.script, arg)
		}
	}
	if asked && len(script.Split(query)) == 0 {
		return a, fault.InvalidInput(`The query given with -q is empty; for example: henge sql -q "SELECT 1"`)
	}
	if !asked && a.script == "" && piped(cmd.InOrStdin()) {
		a.script = "-"
	}
	if a.text = query; a.script != "" {
		if a.text, err = readAll(cmd.InOrStdin(), a.script); err != nil {
			return a, err
		}
	}
	server := a.address != "" || cmd.Flags().Changed("server")
	a.local = files.force || len(a.data) > 0 || !server && readsFiles(a.text)
	if a.local && server {
		return a, fault.InvalidInput("Data files are read without a server: omit the server, or load the files into it with henge ingest")
	}
	return a, nil
}

// start runs what the arguments say.
func (s *session) start(cmd *cobra.Command, a sqlArgs, query string) error {
	if _, err := findFormat(s.format); err != nil {
		return fmt.Errorf("%w%w", errUsage, err)
	}
	if a.script != "" || query != "" {
		name := a.script
		if name == "-" {
			name = standardInput
		}
		return s.runAll(cmd.Context(), name, a.text)
	}
	return (&prompt{session: s}).run(cmd.Context())
}

// piped reports whether input is anything but a terminal.
func piped(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return true
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}

func readAll(stdin io.Reader, file string) (string, error) {
	if file == "-" {
		text, err := io.ReadAll(stdin)
		return string(text), err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		hint := ""
		if strings.ContainsAny(strings.TrimSpace(file), " \n") {
			hint = "; to run a query, give it with -q"
		}
		return "", fault.InvalidInput("File [%s] can't be read: %v%s", file, reasonOf(err), hint)
	}
	return string(text), nil
}

// session runs statements and prints their answers.
type session struct {
	client   *client
	format   string
	timing   bool
	json     bool // errors are JSON
	out, err io.Writer
	clock    clock.Clock
	// local are the files of a run without a server; nil: there is one.
	local *localTables
	// pages, if not nil, gives what shows answers on the terminal.
	pages func() page
	// context has what \set gave, for every statement.
	context map[string]any
}

// runAll runs the statements of a text one after the other, with the commands of the prompt between
// them, and stops at the first that fails. name is that of its file.
func (s *session) runAll(ctx context.Context, name, text string) error {
	if hasCommand(text) {
		p := &prompt{session: s, screen: s.out}
		err := p.script(ctx, name, text)
		if failed := p.closeFile(); err == nil {
			err = failed
		}
		if errors.Is(err, errLeave) {
			return nil
		}
		return err
	}
	for _, statement := range placedStatements(text, place{name, 1, 1}) {
		if err := s.run(ctx, statement.text); err != nil {
			return s.report(statement, err)
		}
	}
	return nil
}

// report shows where in the statement an error lies.
func (s *session) report(of placed, err error) error {
	f, statement := fault.Find(err), of.text
	if f == nil && of.at.file != "" {
		err = fmt.Errorf("%s: %w", of.at, err)
	}
	if f == nil && !s.json {
		return err
	}
	if s.json {
		if f != nil {
			err = of.at.moved(f)
		}
		jsonError(s.err, err)
		return &reportedError{err}
	}
	before, moved := "", of.at.moved(f)
	if at := of.at; at.file != "" {
		if n, err := strconv.Atoi(moved.Context["line"]); err == nil {
			at.line = n
		}
		before = at.String() + ": "
	}
	fmt.Fprintln(s.err, before+"Error: "+termtext.HarmlessLines(shortened(moved.Message)))
	var line, column, endLine, endColumn int
	for key, into := range map[string]*int{"line": &line, "column": &column, "endLine": &endLine, "endColumn": &endColumn} {
		if _, err := fmt.Sscanf(f.Context[key], "%d", into); err != nil {
			*into = 0
		}
	}
	lines := strings.Split(statement, "\n")
	if statement == "" || line < 1 || line > len(lines) || column < 1 {
		return &reportedError{err}
	}
	width := 1
	if endLine == line && endColumn >= column {
		width = endColumn - column + 1
	}
	shown := []rune(termtext.Harmless(strings.ReplaceAll(strings.TrimRight(lines[line-1], "\r"), "\t", " ")))
	from := min(column-1, len(shown))
	marked := termtext.Width(string(shown[from:min(from+width, len(shown))]))
	fmt.Fprintf(s.err, "  %s\n  %s%s\n", string(shown), strings.Repeat(" ", termtext.Width(string(shown[:from]))),
		strings.Repeat("^", max(1, marked)))
	return &reportedError{err}
}

// maxOptions is how much of the tokens a parser would have liked is shown.
const maxOptions = 120

// shortened cuts the list of acceptable tokens, which can fill a screen; what to write instead,
// which may stand behind it, stays.
func shortened(message string) string {
	const before = "acceptable options: ["
	at := strings.Index(message, before)
	if at < 0 || len(message) <= at+len(before)+maxOptions {
		return message
	}
	cut := strings.LastIndex(message[:at+len(before)+maxOptions], ", ")
	if cut < at+len(before) {
		return message
	}
	advice := ""
	if behind := strings.LastIndex(message, "]. Write instead: "); behind > cut {
		advice = message[behind+1:]
	}
	return message[:cut] + ", …]" + advice
}

func (s *session) run(ctx context.Context, statement string) error {
	began := s.clock.Now()
	rows := int64(0)
	var err error
	switch write, explained := script.IsWrite(statement); {
	case !write:
		rows, err = s.read(ctx, "/service/v2/sql", statement)
	case explained:
		rows, err = s.read(ctx, "/service/v2/sql/task", statement)
	default:
		err = s.write(ctx, statement)
	}
	if err == nil && s.timing {
		fmt.Fprintf(s.err, "%s in %s\n", counted(rows, "row"), s.clock.Now().Sub(began).Round(100*time.Microsecond))
	}
	return err
}

// counted writes a number with its noun.
func counted(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return grouped(n) + " " + noun
}

type sqlRequest struct {
	Query        string         `json:"query"`
	ResultFormat string         `json:"resultFormat"`
	Header       bool           `json:"header"`
	Context      map[string]any `json:"context,omitempty"`
}

func (s *session) read(ctx context.Context, path, statement string) (int64, error) {
	format, err := findFormat(s.format)
	if err != nil {
		return 0, err
	}
	return s.readAs(ctx, format, path, statement)
}

// readAs runs a query and prints its answer in a format.
func (s *session) readAs(ctx context.Context, format answerFormat, path, statement string) (rows int64, err error) {
	if format.binary && isTerminal(s.out) {
		return 0, fault.InvalidInput(`Results in format [%s] cannot be shown on a terminal: write them to a file with \o FILE, \copy or >`,
			format.name)
	}
	request := sqlRequest{Query: statement, ResultFormat: format.asked, Header: format.asked != "objectLines", Context: map[string]any{
		querycontext.StringifyArrays.Key(): false, querycontext.SQLQueryID.Key(): "henge-sql-" + rand.Text(),
	}}
	maps.Copy(request.Context, s.context)
	if s.local != nil {
		s.local.begin()
	}
	id, _ := request.Context[querycontext.SQLQueryID.Key()].(string)
	stop := s.follow(ctx, id)
	defer stop()
	body, err := s.client.do(ctx, http.MethodPost, path, request)
	if err != nil {
		return 0, s.stopped(ctx, request, err)
	}
	defer body.Close()
	out := s.out
	if isTerminal(out) {
		if s.pages != nil {
			shown := s.pages()
			defer func() {
				stop()
				if closed := shown.Close(); err == nil {
					err = closed
				}
			}()
			out = shown
		}
		out = &beforeFirst{out, stop}
	}
	rows, err = format.print(out, body)
	if errors.Is(err, errLeft) {
		s.cancelQuery(ctx, id) // the rest is not wanted
		return rows, nil
	}
	return rows, s.stopped(ctx, request, err)
}

// stopped cancels a query on the server when it was interrupted here: the end of the connection
// alone does not reach the Broker through every proxy.
func (s *session) stopped(ctx context.Context, request sqlRequest, err error) error {
	id, known := request.Context[querycontext.SQLQueryID.Key()].(string)
	if err == nil || ctx.Err() == nil || !known {
		return err
	}
	s.cancelQuery(ctx, id)
	return ctx.Err()
}

// cancelQuery cancels a query on the server.
func (s *session) cancelQuery(ctx context.Context, id string) {
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelPatience)
	defer cancel()
	_ = s.client.call(late, http.MethodDelete, "/service/v2/sql/"+url.PathEscape(id), nil, nil) // it may have ended
}

// cancelPatience is how long the server may take to hear that a query is canceled.
const cancelPatience = 3 * time.Second

// errCut says that an answer ended without its end mark.
var errCut = errors.New("the result is incomplete: the server failed while it was sending rows")

// copyLines copies an answer up to its end mark, an empty line, and returns the number of rows.
func copyLines(w io.Writer, body io.Reader) (rows int64, err error) {
	r := bufio.NewReaderSize(body, 1<<16)
	out := bufio.NewWriterSize(w, 1<<16)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			_ = out.Flush() // the error that matters is the other one
			return rows, errCut
		}
		if line == "\n" {
			return rows, out.Flush()
		}
		rows++
		if _, err := out.WriteString(line); err != nil {
			return rows, err
		}
	}
}

// write runs an ingestion as a task and waits for its end.
func (s *session) write(ctx context.Context, statement string) error {
	settings := map[string]any{}
	maps.Copy(settings, s.context)
	id, err := submit(ctx, s.client, statement, settings)
	if err != nil {
		return err
	}
	var last taskProgress
	rows, err := watchTask(ctx, s.client, s.clock, id, s.err, func(p taskProgress) { last = p })
	if err != nil {
		return err
	}
	if script.IsExport(statement) {
		rows = last.rowsExported
	}
	fmt.Fprintf(s.out, "Task %s succeeded: %s written.\n", id, counted(rows, "row"))
	return nil
}

// printTable reads lines of JSON arrays, the names first, and prints a grid with aligned columns.
// Widths come from the first tableSample rows, so that a long answer starts to show at once.
func printTable(w io.Writer, body io.Reader) (int64, error) {
	t := &table{w: bufio.NewWriterSize(w, 1<<16)}
	err := eachRow(body, func(row []json.RawMessage) error {
		t.add(row)
		return nil
	})
	if failed := t.flush(); err == nil {
		err = failed
	}
	return t.rows, err
}
