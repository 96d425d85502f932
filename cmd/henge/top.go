package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ergochat/readline"
	"github.com/spf13/cobra"

	"github.com/hengedb/henge/cmd/henge/termtext"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/querycontext"
)

// topList is how many queries, tasks and supervisors top shows of each.
const topList = 50

// load is what a server does at a moment.
type load struct {
	Server  string `json:"server"`
	Version string `json:"version"`
	Time    string `json:"time"`
	Memory  struct {
		Used int64 `json:"usedBytes"`
		Most int64 `json:"maxBytes"`
	} `json:"memory"`
	Queries     []runningQuery `json:"queries"`
	Tasks       []runningTask  `json:"tasks"`
	Supervisors []runningFeed  `json:"supervisors"`
	// Missing says what could not be read, and why.
	Missing []string `json:"missing,omitempty"`
}

type runningQuery struct {
	Number int    `json:"number"`
	ID     string `json:"id"`
	User   string `json:"user,omitempty"`
	Millis int64  `json:"durationMs"`
	Rows   int64  `json:"rows"`
	Memory int64  `json:"memoryBytes"`
	Text   string `json:"sql"`
}

type runningTask struct {
	ID         string `json:"id"`
	Type       string `json:"type"`
	Datasource string `json:"datasource"`
	State      string `json:"state"`
	Created    string `json:"createdTime"`
}

type runningFeed struct {
	ID    string `json:"id"`
	State string `json:"state"`
	// Lag is in records; nil: not known yet.
	Lag    *int64 `json:"lag"`
	Millis *int64 `json:"lagMs,omitempty"`
}

// top shows what a server does.
type top struct {
	client *client
	clock  clock.Clock
	out    io.Writer

	mu      sync.Mutex
	numbers map[string]int // of the queries that were shown; a number is never given twice
	note    string         // what became of the last command
}

func topCommand() *cobra.Command {
	t := &top{clock: clock.System()}
	var who login
	var once, asJSON bool
	var seconds float64
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch the queries, tasks, lag and memory of a server",
		Long: `Watch the running queries, tasks, supervisor lag and memory of a server.
Enter the number of a query to cancel it; q or Ctrl-C quits. Without a terminal, the command prints one snapshot.`,
		Example: `  henge top
  henge top --once
  henge top --json | jq '.queries[] | select(.durationMs > 60000) | .id'`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if !(seconds >= 0.1 && seconds <= 3600) {
				return fault.InvalidInput("Interval [%g] is not from 0.1 to 3600 seconds", seconds)
			}
			if t.client, err = who.client(cmd); err != nil {
				return err
			}
			t.out = cmd.OutOrStdout()
			if once || asJSON || piped(cmd.InOrStdin()) || !isTerminal(t.out) {
				return t.once(cmd.Context(), asJSON)
			}
			return t.live(cmd.Context(), time.Duration(seconds*float64(time.Second)))
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "print one snapshot and exit")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one snapshot as JSON and exit")
	cmd.Flags().Float64Var(&seconds, "interval", 1, "seconds between refreshes")
	who.add(cmd.Flags(), "address of the server (its Router or Broker)")
	return cmd
}

// look asks the server. What a user may not see is missing; only a server that is away is an error.
func (t *top) look(ctx context.Context) (*load, error) {
	var status struct {
		Version string `json:"version"`
		Memory  struct {
			Used int64 `json:"usedMemory"`
			Most int64 `json:"maxMemory"`
		} `json:"memory"`
	}
	if err := t.client.call(ctx, http.MethodGet, "/status", nil, &status); err != nil {
		return nil, err
	}
	l := &load{Server: t.client.base, Version: status.Version, Time: chrono.FormatMillis(clock.Millis(t.clock), chrono.UTC),
		Queries: []runningQuery{}, Tasks: []runningTask{}, Supervisors: []runningFeed{}}
	l.Memory.Used, l.Memory.Most = status.Memory.Used, status.Memory.Most
	for _, part := range []struct {
		name string
		read func(context.Context, *load) error
	}{{"queries", t.queries}, {"tasks", t.tasks}, {"supervisors", t.supervisors}} {
		if err := part.read(ctx, l); err != nil {
			if ctx.Err() != nil || isAway(err) {
				return nil, err
			}
			l.Missing = append(l.Missing, part.name+": "+messageOf(err))
		}
	}
	return l, nil
}

// ask runs a query of top itself, which top does not show.
func (t *top) ask(ctx context.Context, query string, rows any) error {
	return t.client.call(ctx, http.MethodPost, "/service/v2/sql", map[string]any{
		"query": query, "resultFormat": "object", "context": map[string]any{querycontext.SQLQueryID.Key(): topID + newID()},
	}, rows)
}

// topID begins the ids of the queries of top.
const topID = "henge-top-"

func (t *top) queries(ctx context.Context, l *load) error {
	var rows []struct {
		ID     string `json:"id"`
		User   string `json:"user"`
		Millis int64  `json:"duration"`
		Rows   int64  `json:"num_rows"`
		Memory int64  `json:"memory"`
		Info   string `json:"info"`
	}
	err := t.ask(ctx, `SELECT id, "user", duration, num_rows, memory, info FROM sys.queries WHERE state = 'RUNNING' `+
		`AND id NOT LIKE '`+topID+`%' ORDER BY duration DESC LIMIT `+strconv.Itoa(topList), &rows)
	for _, r := range rows {
		var info struct {
			SQL string `json:"sql"`
		}
		_ = json.Unmarshal([]byte(r.Info), &info) // a query without a text is shown without one
		l.Queries = append(l.Queries, runningQuery{
			Number: t.number(r.ID), ID: r.ID, User: r.User, Millis: r.Millis, Rows: r.Rows, Memory: r.Memory, Text: info.SQL,
		})
	}
	return err
}

// number returns the number of a query.
func (t *top) number(id string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.numbers == nil {
		t.numbers = map[string]int{}
	}
	if t.numbers[id] == 0 {
		t.numbers[id] = len(t.numbers) + 1
	}
	return t.numbers[id]
}

func (t *top) tasks(ctx context.Context, l *load) error {
	return t.ask(ctx, `SELECT task_id AS id, type, datasource, COALESCE(runner_status, status) AS state, `+
		`created_time AS createdTime FROM sys.tasks WHERE status = 'RUNNING' ORDER BY created_time LIMIT `+strconv.Itoa(topList), &l.Tasks)
}

func (t *top) supervisors(ctx context.Context, l *load) error {
	err := t.ask(ctx, `SELECT supervisor_id AS id, detailed_state AS state FROM sys.supervisors ORDER BY 1 LIMIT `+
		strconv.Itoa(topList), &l.Supervisors)
	if err != nil {
		return err
	}
	for i := range l.Supervisors {
		s := &l.Supervisors[i]
		var status struct {
			Payload struct {
				Lag    *int64 `json:"aggregateLag"`
				Millis *int64 `json:"aggregateLagMillis"`
			} `json:"payload"`
		}
		path := "/service/indexer/v1/supervisor/" + url.PathEscape(s.ID) + "/status"
		if err := t.client.call(ctx, http.MethodGet, path, nil, &status); err != nil {
			return err
		}
		s.Lag, s.Millis = status.Payload.Lag, status.Payload.Millis
	}
	return nil
}

func (t *top) once(ctx context.Context, asJSON bool) error {
	l, err := t.look(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		text, err := json.Marshal(l)
		if err != nil {
			return fmt.Errorf("writing what the server does: %w", err)
		}
		_, err = fmt.Fprintf(t.out, "%s\n", text)
		return err
	}
	_, err = io.WriteString(t.out, l.text())
	return err
}

// live shows the load until the user leaves.
func (t *top) live(ctx context.Context, every time.Duration) error {
	line, err := readline.NewFromConfig(&readline.Config{Prompt: "number of a query to cancel, q to quit> ", HistoryLimit: -1})
	if err != nil {
		return fmt.Errorf("opening the terminal: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	shown := make(chan struct{})
	now := make(chan struct{}, 1)
	defer func() {
		cancel()
		<-shown
		_ = line.Close() // the terminal is given back; there is nothing to save
	}()
	go func() {
		defer close(shown)
		t.refresh(ctx, line, every, now)
	}()
	for {
		text, err := line.ReadLine()
		text = strings.TrimSpace(text)
		switch {
		case errors.Is(err, readline.ErrInterrupt), errors.Is(err, io.EOF), text == "q", ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case text != "":
			t.say(t.cancel(ctx, text))
		}
		select {
		case now <- struct{}{}:
		default: // it looks soon
		}
	}
}

func (t *top) say(note string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.note = note
}

// cancel ends the query with a number and returns what is told of that.
func (t *top) cancel(ctx context.Context, text string) string {
	n, err := strconv.Atoi(text)
	id := ""
	t.mu.Lock()
	for known, number := range t.numbers {
		if err == nil && number == n {
			id = known
		}
	}
	t.mu.Unlock()
	if id == "" {
		return "No query has number [" + text + "]."
	}
	if err := t.client.call(ctx, http.MethodDelete, "/service/v2/sql/"+url.PathEscape(id), nil, nil); err != nil {
		return fmt.Sprintf("Query %d can't be canceled: %s", n, messageOf(err))
	}
	return fmt.Sprintf("Query %d was canceled.", n)
}

// refresh draws the screen again and again.
func (t *top) refresh(ctx context.Context, w io.Writer, every time.Duration, now <-chan struct{}) {
	tick := t.clock.NewTicker(every)
	defer tick.Stop()
	for {
		text := ""
		if l, err := t.look(ctx); err != nil {
			text = messageOf(err) + "\n"
		} else {
			text = l.text()
		}
		if ctx.Err() != nil {
			return
		}
		t.mu.Lock()
		if t.note != "" {
			text += t.note + "\n"
		}
		t.mu.Unlock()
		// Home, what was there away, and the load; the prompt draws itself below. A terminal that is gone
		// ends the reading of it.
		_, _ = io.WriteString(w, "\x1b[H\x1b[2J"+strings.ReplaceAll(text, "\n", "\r\n"))
		select {
		case <-ctx.Done():
			return
		case <-tick.C():
		case <-now:
		}
	}
}

// text is a load as people read it.
func (l *load) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "henge %s at %s, %s. Memory %s of %s MB.\n", l.Version, l.Server, l.Time,
		grouped(l.Memory.Used>>20), grouped(l.Memory.Most>>20))
	fmt.Fprintf(&b, "\n%s\n", amount(len(l.Queries), "query", "queries"))
	for _, q := range l.Queries {
		seconds := float64(q.Millis) / 1000
		fmt.Fprintf(&b, "%4d  %8.1fs  %12s rows  %8s KB  %-10s  %s\n", q.Number, seconds, grouped(q.Rows), grouped(q.Memory>>10),
			clipped(q.User, 10), clipped(q.Text, 80))
	}
	fmt.Fprintf(&b, "\n%s\n", amount(len(l.Tasks), "task", "tasks"))
	for _, k := range l.Tasks {
		fmt.Fprintf(&b, "  %-9s %-16s %-20s %s since %s\n", k.State, clipped(k.Type, 16), clipped(k.Datasource, 20),
			clipped(k.ID, 60), k.Created)
	}
	fmt.Fprintf(&b, "\n%s\n", amount(len(l.Supervisors), "supervisor", "supervisors"))
	for _, s := range l.Supervisors {
		lag := "not known"
		if s.Lag != nil {
			lag = counted(*s.Lag, "record")
		}
		if s.Millis != nil {
			lag += ", " + (time.Duration(*s.Millis) * time.Millisecond).String()
		}
		fmt.Fprintf(&b, "  %-30s %-24s lag %s\n", clipped(s.ID, 30), s.State, lag)
	}
	for _, m := range l.Missing {
		fmt.Fprintf(&b, "\nNot shown: %s\n", clipped(m, 120))
	}
	return b.String()
}

func amount(n int, one, many string) string {
	if n == 1 {
		many = one
	}
	return grouped(int64(n)) + " " + many
}

// clipped is a text on one line of a length, without what a terminal takes as commands.
func clipped(text string, length int) string {
	runes := []rune(termtext.Harmless(strings.Join(strings.Fields(text), " ")))
	if len(runes) > length {
		return string(runes[:length-1]) + "…"
	}
	return string(runes)
}
