package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ergochat/readline"
	"github.com/spf13/cobra"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/querycontext"
)

func sqlCommand() *cobra.Command {
	s := &session{clock: clock.System()}
	var query string
	var device bool
	var who login
	cmd := &cobra.Command{
		Use:   "sql [FILE]",
		Short: "Ask in SQL: one query, a file of statements, or a prompt",
		Long: `Ask in SQL. With -q one query is run; with a file (- for standard input) its statements, separated by
semicolons; with neither a prompt is shown, or what is piped in is run.

INSERT and REPLACE statements run as tasks; henge waits for their end.`,
		Example: `  henge sql -q "SELECT COUNT(*) FROM events"
  henge sql -q "SELECT * FROM events LIMIT 10" --format csv > rows.csv
  henge sql report.sql
  henge sql`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if s.client, err = who.client(cmd); err != nil {
				return err
			}
			s.out, s.err = cmd.OutOrStdout(), cmd.ErrOrStderr()
			if device {
				if err := s.client.logInByDevice(cmd.Context(), s.err); err != nil {
					return err
				}
			}
			switch s.format {
			case "table", "csv", "json":
			default:
				return fault.InvalidInput("Format [%s] is unknown; use table, csv or json", s.format)
			}
			switch {
			case cmd.Flags().Changed("query"):
				if len(splitStatements(query)) == 0 {
					return fault.InvalidInput(`The query given with -q is empty; for example: henge sql -q "SELECT 1"`)
				}
				return s.runAll(cmd.Context(), query)
			case len(args) == 1:
				text, err := readAll(cmd.InOrStdin(), args[0])
				if err != nil {
					return err
				}
				return s.runAll(cmd.Context(), text)
			case piped(cmd.InOrStdin()):
				text, err := readAll(cmd.InOrStdin(), "-")
				if err != nil {
					return err
				}
				return s.runAll(cmd.Context(), text)
			}
			return s.prompt(cmd.Context())
		},
	}
	cmd.Flags().StringVarP(&query, "query", "q", "", "the query to run")
	cmd.Flags().StringVar(&s.format, "format", "table", "form of the answer: table, csv or json")
	cmd.Flags().BoolVar(&device, "login", false, "log in first, at the server's provider of OpenID Connect; later commands stay logged in")
	cmd.Flags().BoolVar(&s.timing, "timing", false, "print how long each statement took")
	who.add(cmd.Flags(), "address of the server (its Router or Broker)")
	return cmd
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
	out, err io.Writer
	clock    clock.Clock
}

// runAll runs the statements of a text one after the other and stops at the first that fails.
func (s *session) runAll(ctx context.Context, text string) error {
	for _, statement := range splitStatements(text) {
		if err := s.run(ctx, statement); err != nil {
			return s.report(statement, err)
		}
	}
	return nil
}

// report shows where in the statement an error lies.
func (s *session) report(statement string, err error) error {
	f := fault.Find(err)
	if f == nil {
		return err
	}
	fmt.Fprintln(s.err, "Error: "+shortened(f.Message))
	var line, column, endLine, endColumn int
	for key, into := range map[string]*int{"line": &line, "column": &column, "endLine": &endLine, "endColumn": &endColumn} {
		if _, err := fmt.Sscanf(f.Context[key], "%d", into); err != nil {
			*into = 0
		}
	}
	lines := strings.Split(statement, "\n")
	if line < 1 || line > len(lines) || column < 1 {
		return errReported
	}
	width := 1
	if endLine == line && endColumn >= column {
		width = endColumn - column + 1
	}
	fmt.Fprintf(s.err, "  %s\n  %s%s\n", lines[line-1], strings.Repeat(" ", column-1), strings.Repeat("^", width))
	return errReported
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
	switch write, explained := isWrite(statement); {
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
	format := map[string]string{"table": "arrayLines", "csv": "csv", "json": "objectLines"}[s.format]
	body, err := s.client.do(ctx, http.MethodPost, path, sqlRequest{
		Query: statement, ResultFormat: format, Header: s.format != "json", Context: map[string]any{querycontext.StringifyArrays.Key(): false},
	})
	if err != nil {
		return 0, err
	}
	defer body.Close()
	if s.format == "table" {
		return printTable(s.out, body)
	}
	return copyLines(s.out, body, s.format == "csv")
}

// errCut says that an answer ended without its end mark.
var errCut = errors.New("the answer broke off: the server met an error while it was writing; what was printed is not all")

// copyLines copies an answer up to its end mark, an empty line that is no part of a quoted csv
// field, and returns the number of rows.
func copyLines(w io.Writer, body io.Reader, csv bool) (rows int64, err error) {
	r := bufio.NewReaderSize(body, 1<<16)
	out := bufio.NewWriterSize(w, 1<<16)
	quoted := false
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			_ = out.Flush() // the error that matters is the other one
			return rows, errCut
		}
		if !quoted && line == "\n" {
			break
		}
		if csv && strings.Count(line, `"`)%2 == 1 {
			quoted = !quoted
		}
		if !quoted {
			rows++
		}
		if _, err := out.WriteString(line); err != nil {
			return rows, err
		}
	}
	if csv && rows > 0 {
		rows-- // the names
	}
	return rows, out.Flush()
}

// write runs an ingestion as a task and waits for its end.
func (s *session) write(ctx context.Context, statement string) error {
	id, err := submit(ctx, s.client, statement, map[string]any{})
	if err != nil {
		return err
	}
	var last taskProgress
	rows, err := watchTask(ctx, s.client, s.clock, id, s.err, func(p taskProgress) { last = p })
	if err != nil {
		return err
	}
	if isExport(statement) {
		rows = last.rowsExported
	}
	fmt.Fprintf(s.out, "Task %s succeeded: %s written.\n", id, counted(rows, "row"))
	return nil
}

func (s *session) prompt(ctx context.Context) error {
	var version struct {
		Version string `json:"version"`
	}
	if err := s.client.call(ctx, http.MethodGet, "/status", nil, &version); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "henge %s at %s. Statements end with a semicolon; \\q leaves, \\t switches timing, \\f table|csv|json sets the format.\n", version.Version, s.client.base)
	config := &readline.Config{Prompt: "henge> ", HistoryLimit: 1000}
	if dir, err := os.UserConfigDir(); err == nil && os.MkdirAll(filepath.Join(dir, "henge"), 0o700) == nil {
		config.HistoryFile = filepath.Join(dir, "henge", "history")
	}
	line, err := readline.NewFromConfig(config)
	if err != nil {
		return fmt.Errorf("opening the terminal: %w", err)
	}
	defer func() { _ = line.Close() }() // the terminal is given back; there is nothing to save
	var pending strings.Builder
	for {
		text, err := line.ReadLine()
		switch {
		case errors.Is(err, readline.ErrInterrupt):
			pending.Reset()
			line.SetPrompt("henge> ")
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if pending.Len() == 0 && strings.HasPrefix(strings.TrimSpace(text), "\\") {
			if !s.meta(strings.Fields(text)) {
				return nil
			}
			continue
		}
		pending.WriteString(text + "\n")
		if !endsStatement(pending.String()) {
			if strings.TrimSpace(pending.String()) != "" {
				line.SetPrompt("   ... ")
			}
			continue
		}
		for _, statement := range splitStatements(pending.String()) {
			if err := s.run(ctx, statement); err != nil {
				if err := s.report(statement, err); !errors.Is(err, errReported) {
					fmt.Fprintln(s.err, "Error: "+err.Error())
				}
				break
			}
		}
		pending.Reset()
		line.SetPrompt("henge> ")
		if ctx.Err() != nil {
			return nil
		}
	}
}

// meta carries out a command of the prompt itself; false means leave.
func (s *session) meta(words []string) bool {
	switch words[0] {
	case "\\q":
		return false
	case "\\t":
		s.timing = !s.timing
		fmt.Fprintf(s.out, "Timing is %s.\n", map[bool]string{true: "on", false: "off"}[s.timing])
	case "\\f":
		if len(words) == 2 && (words[1] == "table" || words[1] == "csv" || words[1] == "json") {
			s.format = words[1]
		} else {
			fmt.Fprintln(s.err, "Write \\f table, \\f csv or \\f json.")
		}
	default:
		fmt.Fprintf(s.err, "Command [%s] is unknown; there are \\q, \\t and \\f.\n", words[0])
	}
	return true
}

// printTable reads lines of JSON arrays, the names first, and prints a grid with aligned columns.
// Widths come from the first tableSample rows, so that a long answer starts to show at once.
func printTable(w io.Writer, body io.Reader) (int64, error) {
	dec := json.NewDecoder(bufio.NewReaderSize(body, 1<<16))
	dec.UseNumber()
	t := &table{w: bufio.NewWriterSize(w, 1<<16)}
	for {
		var row []json.RawMessage
		if err := dec.Decode(&row); err == io.EOF {
			break
		} else if err != nil {
			_ = t.flush() // the error that matters is the other one
			return t.rows, errCut
		}
		t.add(row)
	}
	return t.rows, t.flush()
}
