package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

const supervisorPath = "/service/indexer/v1/supervisor"

func streamCommand() *cobra.Command {
	o := &streamOptions{clock: clock.System()}
	var who login
	cmd := &cobra.Command{
		Use:   "stream --kafka HOST[,HOST] --topic TOPIC --into DATASOURCE",
		Short: "Load a Kafka topic continuously, and manage supervisors",
		Long: `Load a Kafka topic into a datasource continuously.

The command reads the first records of the topic through the server, so the server must reach Kafka. It detects the time column from its
values; without one, rows have the time of the record in Kafka. All other columns are discovered as records arrive. It prints the
spec of the supervisor, which you can edit and reuse, and the rows of the first records. Then it submits the spec, and follows
the supervisor until it reads.

The supervisor keeps running when this command ends. The commands below list, show, suspend, resume and terminate supervisors.`,
		Example: `  henge stream --kafka localhost:9092 --topic orders --into orders
  henge stream --kafka kafka-1:9092,kafka-2:9092 --topic clicks --into clicks --time at --rollup minute --sum bytes
  henge stream --kafka kafka:9093 --topic orders --into orders --property security.protocol=SASL_SSL --property sasl.mechanism=PLAIN ...
  henge stream --kafka localhost:9092 --topic orders --into orders --dry-run > spec.json
  henge stream status orders`,
		Args: onlyCommands,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().NFlag() == 0 {
				return cmd.Help()
			}
			if err := o.check(); err != nil {
				return err
			}
			var err error
			if o.client, err = who.client(cmd); err != nil {
				return err
			}
			o.out, o.err = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return o.run(cmd.Context())
		},
	}
	who.add(cmd.PersistentFlags(), "address of the server")
	o.flags(cmd)
	for _, c := range []struct {
		use, short string
		run        func(ctx context.Context, c *client, w io.Writer, id string) error
	}{
		{"list", "List the supervisors", func(ctx context.Context, c *client, w io.Writer, _ string) error { return listStreams(ctx, c, w) }},
		{"status ID", "Show the state of a supervisor: its tasks, its lag and its last errors", showStream},
		{"suspend ID", "Suspend a supervisor: it publishes the rows it has read and stops reading", steer("suspend", "is already suspended")},
		{"resume ID", "Resume a suspended supervisor where it stopped", steer("resume", "is already running")},
		{"terminate ID", "End a supervisor after it has published the rows it has read; the datasource is kept", steer("terminate", "")},
	} {
		wanted := noArguments
		if strings.Contains(c.use, " ") {
			wanted = exactly("the id of the supervisor")
		}
		run := func(cmd *cobra.Command, args []string) error {
			client, err := who.client(cmd)
			if err != nil {
				return err
			}
			return c.run(cmd.Context(), client, cmd.OutOrStdout(), strings.Join(args, ""))
		}
		cmd.AddCommand(&cobra.Command{Use: c.use, Short: c.short, Args: wanted, RunE: run})
	}
	return cmd
}

// flags adds the flags by which a topic is loaded.
func (o *streamOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.kafka, "kafka", "", "addresses of Kafka brokers, separated by commas; the server must reach them")
	f.StringVar(&o.topic, "topic", "", "topic to load")
	f.StringVar(&o.into, "into", "", "datasource to load into")
	f.StringVar(&o.id, "id", "", "id of the supervisor (default: the datasource)")
	f.StringArrayVar(&o.properties, "property", nil, "property of the Kafka client as NAME=VALUE, such as security.protocol=SSL")
	f.StringVar(&o.format, "input-format", "", "input format of the records, as JSON (default: JSON objects)")
	f.StringVar(&o.survey.Time, "time", "", "time column (default: detected from the values)")
	f.StringVar(&o.survey.TimeFormat, "time-format", "", "format of the time column: iso, posix (seconds), millis, micro, nano or a "+
		"pattern (default: detected)")
	f.StringVar(&o.rollup, "rollup", "", "roll up: merge rows with equal values within a minute, hour, .. and count them")
	f.StringArrayVar(&o.sums, "sum", nil, "with --rollup: column to sum, named sum_COLUMN")
	f.StringVar(&o.partitionedBy, "partitioned-by", "DAY", "time chunk of a segment: HOUR, DAY, MONTH or YEAR")
	f.BoolVar(&o.latest, "latest", false, "start with new records, not with the first records of the topic")
	f.BoolVar(&o.update, "update", false, "replace the spec of an existing supervisor")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the spec and the rows, and stop")
	f.DurationVar(&o.wait, "wait", streamWait, "how long to wait until the supervisor reads; 0: do not wait")
}

// supervisorURL is the path of a supervisor.
func supervisorURL(id, action string) string {
	path := supervisorPath + "/" + url.PathEscape(id)
	if action != "" {
		path += "/" + action
	}
	return path
}

// unknownStream explains that there is no such supervisor.
func unknownStream(err error, id string) error {
	if f := fault.Find(err); f != nil && strings.Contains(f.Message, "Cannot find any supervisor") {
		return fault.NotFound("There is no supervisor [%s]; list them with: henge stream list", id)
	}
	return err
}

// steer returns the command that asks for an action. A supervisor that is in that state already is
// no error: already is how the server says so.
func steer(action, already string) func(context.Context, *client, io.Writer, string) error {
	done := map[string]string{"suspend": "is suspended: it publishes the rows it has read, and stops reading",
		"resume": "is resumed", "terminate": "ends: it publishes the rows it has read. A new supervisor with the same id continues there"}[action]
	return func(ctx context.Context, c *client, w io.Writer, id string) error {
		err := c.call(ctx, http.MethodPost, supervisorURL(id, action), nil, nil)
		if f := fault.Find(err); f != nil && already != "" && strings.Contains(f.Message, already) {
			fmt.Fprintf(w, "Supervisor [%s] %s.\n", id, already)
			return nil
		}
		if err != nil {
			return unknownStream(err, id)
		}
		fmt.Fprintf(w, "Supervisor [%s] %s.\n", id, done)
		return nil
	}
}

// streamStatus is the report of a supervisor.
type streamStatus struct {
	DataSource string           `json:"dataSource"`
	Stream     string           `json:"stream"`
	Partitions int              `json:"partitions"`
	State      string           `json:"state"`
	Detailed   string           `json:"detailedState"`
	Healthy    bool             `json:"healthy"`
	Suspended  bool             `json:"suspended"`
	Active     []streamTask     `json:"activeTasks"`
	Publishing []streamTask     `json:"publishingTasks"`
	Lag        map[string]int64 `json:"minimumLag"`
	TotalLag   *int64           `json:"aggregateLag"`
	Errors     []streamError    `json:"recentErrors"`
}

type streamTask struct {
	ID        string                     `json:"id"`
	Type      string                     `json:"type"`
	Start     *string                    `json:"startTime"`
	Remaining *int64                     `json:"remainingSeconds"`
	Current   map[string]json.RawMessage `json:"currentOffsets"`
}

type streamError struct {
	Time    string `json:"timestamp"`
	Message string `json:"message"`
	Stream  bool   `json:"streamException"`
}

func statusOfStream(ctx context.Context, c *client, id string) (*streamStatus, error) {
	var report struct {
		Payload streamStatus `json:"payload"`
	}
	if err := c.call(ctx, http.MethodGet, supervisorURL(id, "status"), nil, &report); err != nil {
		return nil, unknownStream(err, id)
	}
	return &report.Payload, nil
}

// listStreams prints the supervisors.
func listStreams(ctx context.Context, c *client, w io.Writer) error {
	var list []struct {
		ID         string `json:"id"`
		DataSource string `json:"dataSource"`
		Detailed   string `json:"detailedState"`
		Spec       struct {
			Type string `json:"type"`
		} `json:"spec"`
	}
	if err := c.call(ctx, http.MethodGet, supervisorPath+"?full", nil, &list); err != nil {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintln(w, "There are no supervisors. Load a topic with: henge stream --kafka HOST --topic TOPIC --into DATASOURCE")
		return nil
	}
	t := &table{w: bufio.NewWriter(w)}
	t.add(cells("id", "type", "datasource", "state", "tasks", "lag"))
	for _, s := range list {
		tasks, lag := any(nil), any(nil)
		if status, err := statusOfStream(ctx, c, s.ID); err == nil { // other kinds have other reports
			if tasks = len(status.Active); status.TotalLag != nil {
				lag = *status.TotalLag
			}
		}
		t.add(cells(s.ID, s.Spec.Type, s.DataSource, s.Detailed, tasks, lag))
	}
	return t.flush()
}

// cells are the values of a row of a table.
func cells(values ...any) (out []json.RawMessage) {
	for _, v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			panic(fmt.Sprintf("texts and numbers always marshal: %v", err))
		}
		out = append(out, text)
	}
	return out
}

// showStream prints the report of a supervisor.
func showStream(ctx context.Context, c *client, w io.Writer, id string) error {
	s, err := statusOfStream(ctx, c, id)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "Supervisor [%s] of datasource [%s] reads [%s], %s: %s\n", id, s.DataSource, s.Stream,
		counted(int64(s.Partitions), "partition"), s.Detailed)
	if s.TotalLag != nil && len(s.Lag) > 0 {
		fmt.Fprintf(w, "Not read yet: %s\n", counted(*s.TotalLag, "record"))
	}
	if tasks := slices.Concat(s.Active, s.Publishing); len(tasks) > 0 {
		fmt.Fprintln(w)
		t := &table{w: bufio.NewWriter(w)}
		t.add(cells("task", "does", "since", "seconds left", "is at"))
		for _, task := range tasks {
			at, err := json.Marshal(task.Current)
			if err != nil {
				return err
			}
			t.add(cells(task.ID, strings.ToLower(task.Type), task.Start, task.Remaining, string(at)))
		}
		if err := t.flush(); err != nil {
			return err
		}
	}
	for i, e := range s.Errors {
		if i == 0 {
			fmt.Fprintln(w, "\nLast errors:")
		}
		fmt.Fprintf(w, "  %s %s\n", e.Time, firstLine(e.Message))
	}
	if advice := adviceFor(s, id); advice != "" {
		fmt.Fprintf(w, "\n%s\n", advice)
	}
	return nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
