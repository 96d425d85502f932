package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/hengedb/henge/internal/audit"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/secret"
)

// tool is one that agents may call.
type tool struct {
	name, title, about string
	// arguments are the properties of its input, by name; required those that must be there.
	arguments map[string]any
	required  []string
	// writes says that it changes something: it is listed for those who may write a datasource.
	writes bool
	run    runs
}

// runs is a tool of which the arguments are not read yet.
type runs = func(a *API, ctx context.Context, c *call, arguments json.RawMessage) (any, error)

// with makes a tool of a function whose input is a struct.
func with[T any](f func(a *API, ctx context.Context, c *call, in T) (any, error)) runs {
	return func(a *API, ctx context.Context, c *call, arguments json.RawMessage) (any, error) {
		var in T
		if len(bytes.TrimSpace(arguments)) > 0 {
			dec := json.NewDecoder(bytes.NewReader(arguments))
			dec.DisallowUnknownFields() // a limit that is misspelt would not hold
			if err := dec.Decode(&in); err != nil {
				return nil, fault.InvalidInput("The arguments can't be read: %s", fault.Words(err))
			}
		}
		return f(a, ctx, c, in)
	}
}

func text(about string) any { return map[string]any{"type": "string", "description": about} }

func number(about string) any {
	return map[string]any{"type": "integer", "minimum": 1, "description": about}
}

func list(of any, about string) any {
	return map[string]any{"type": "array", "items": of, "description": about}
}

var (
	sqlText   = text("One SELECT statement. Use ? for parameters.")
	scalars   = list(map[string]any{"type": []string{"string", "number", "boolean", "null"}}, "Values of the parameters.")
	maxRows   = number("Rows of the answer at most.")
	ofOne     = text("Name of the datasource.")
	noneOrOne = text("Name of the datasource; all that you may read, if it is missing.")
)

var tools = []tool{
	{
		name: "list_datasources", title: "List datasources",
		about: "Lists the datasources that you may read, with rows, bytes, segments and the times that they span.",
		run:   with((*API).listDataSources),
	}, {
		name: "describe_datasource", title: "Describe a datasource",
		about: "Returns columns and types of a datasource, statistics of its newest day (distinct values, nulls, least and greatest value), " +
			"the most frequent values of text columns, and sample rows.",
		arguments: map[string]any{"datasource": ofOne}, required: []string{"datasource"},
		run: with((*API).describe),
	}, {
		name: "query", title: "Run a SQL query",
		about: "Runs a SELECT statement and returns columns and rows. Where `truncated` is true, next_page returns the rows that follow.",
		arguments: map[string]any{
			"sql": sqlText, "parameters": scalars, "maxRows": maxRows, "timeoutSeconds": number("Seconds after which it is cancelled."),
		}, required: []string{"sql"},
		run: with((*API).query),
	}, {
		name: "next_page", title: "Read on in a result", about: "Returns the rows of a result that follow those of an answer before.",
		arguments: map[string]any{"handle": text("The nextPage of that answer."), "maxRows": maxRows}, required: []string{"handle"},
		run: with((*API).nextPage),
	}, {
		name: "explain", title: "Explain a SQL query",
		about:     "Returns the plan of a statement without running it, and how many bytes of segments it may read at most.",
		arguments: map[string]any{"sql": sqlText, "parameters": scalars}, required: []string{"sql"},
		run: with((*API).explain),
	}, {
		name: "why", title: "Why is it so?",
		about: "Explains the state of a segment, datasource, task or supervisor: not loaded, not compacted, waiting, failing. Give at most one " +
			"of the arguments; without arguments, it lists everything that needs attention.",
		arguments: map[string]any{
			"segment": text("Id of a segment."), "datasource": ofOne, "task": text("Id of a task."), "supervisor": text("Id of a supervisor."),
		},
		run: with((*API).why),
	}, {
		name: "freshness", title: "How fresh is the data?",
		about: "Returns the newest time of a datasource, its age, how many of its segments can be queried, and the state of its " +
			"supervisors.",
		arguments: map[string]any{"datasource": ofOne}, required: []string{"datasource"},
		run: with((*API).freshness),
	}, {
		name: "recent_errors", title: "Recent errors",
		about:     "Lists tasks and queries that failed lately, and supervisors that are not healthy.",
		arguments: map[string]any{"datasource": noneOrOne},
		run:       with((*API).recentErrors),
	}, {
		name: "ingest_rows", title: "Ingest rows", writes: true,
		about: "Adds a small batch of rows to a datasource. They are durable when the answer comes. Rows need a column with the time.",
		arguments: map[string]any{
			"datasource": ofOne, "rows": list(map[string]any{"type": "object"}, "The rows, as objects."),
			"idempotencyKey": text("A batch with a key that was there before is not taken again."),
		}, required: []string{"datasource", "rows"},
		run: with((*API).ingest),
	}, {
		name: "submit_task", title: "Submit a task", writes: true,
		about: "Starts a task and returns its id: an INSERT or REPLACE statement, or a specification of a task. Use recent_errors and " +
			"sys.tasks to see what became of it.",
		arguments: map[string]any{
			"sql":  text("An INSERT or REPLACE statement."),
			"spec": map[string]any{"type": "object", "description": "A specification, in place of sql."},
		},
		run: with((*API).submit),
	},
}

// mayWrite tells whether the caller may write any datasource: one that there is, or one that a
// permission without a name would allow.
func (a *API) mayWrite(ctx context.Context, c *call) bool {
	if !c.access.Limited() || c.access.May(ctx, auth.Writes(auth.Datasource, "any")) {
		return true
	}
	r, err := a.statement(ctx, c, "SELECT TABLE_NAME FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_TYPE = 'TABLE'", nil)
	if err != nil {
		return false
	}
	for _, row := range r.rows {
		var of [1]string
		if json.Unmarshal(row, &of) == nil && c.access.May(ctx, auth.Writes(auth.Datasource, of[0])) {
			return true
		}
	}
	return false
}

func (a *API) listTools(ctx context.Context, c *call) (any, *rpcError) {
	var p struct {
		Cursor string `json:"cursor"`
	}
	if problem := c.read(&p); problem != nil {
		return nil, problem
	}
	if p.Cursor != "" {
		return nil, refuse(codeParams, "Cursor [%.100s] is of no list: all tools are in the first answer", p.Cursor)
	}
	writes := a.mayWrite(ctx, c)
	out := []any{}
	for _, t := range tools {
		if t.writes && !writes {
			continue
		}
		schema := map[string]any{"type": "object", "properties": t.arguments, "additionalProperties": false}
		if t.arguments == nil {
			schema["properties"] = map[string]any{}
		}
		if len(t.required) > 0 {
			schema["required"] = t.required
		}
		out = append(out, map[string]any{
			"name": t.name, "title": t.title, "description": t.about, "inputSchema": schema,
			"annotations": map[string]any{"readOnlyHint": !t.writes, "openWorldHint": false},
		})
	}
	return cached(map[string]any{"tools": out}), nil
}

// callTool runs a tool. What the tool refuses or fails in is a result that says so, for the agent
// to read.
func (a *API) callTool(ctx context.Context, c *call) (any, *rpcError) {
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if problem := c.read(&p); problem != nil {
		return nil, problem
	}
	for _, t := range tools {
		if t.name != p.Name {
			continue
		}
		select {
		case a.calls <- struct{}{}:
			defer func() { <-a.calls }()
		default:
			return failed(fault.Capacity("Too many calls of tools run, [service.mcp.maxConcurrentCalls] are [%d]; try again",
				a.o.Limits.Calls)), nil
		}
		noted(ctx, &t, p.Arguments)
		ctx, cancel, err := a.within(ctx, nil)
		if err != nil {
			return nil, refuse(codeInternal, "%s", err)
		}
		defer cancel()
		result, err := t.run(a, ctx, c, p.Arguments)
		if err != nil {
			return failed(err), nil
		}
		body, err := jsontext.Marshal(result)
		if err != nil {
			return nil, refuse(codeInternal, "The answer can't be encoded")
		}
		return map[string]any{
			"content": []any{map[string]any{"type": "text", "text": string(body)}}, "structuredContent": json.RawMessage(body),
			"isError": false,
		}, nil
	}
	return nil, refuse(codeParams, "Tool [%.100s] is not known", p.Name)
}

// noted tells the audit what a tool that writes is called with. Those that read send queries, which
// have entries of their own.
func noted(ctx context.Context, t *tool, arguments json.RawMessage) {
	note := audit.Of(ctx)
	if note == nil || !t.writes {
		return
	}
	note.Taken, note.Changed, note.Door, note.Statement = false, true, "agent", t.name
	if t.name == "ingest_rows" { // rows are data
		return
	}
	if masked, err := secret.MaskJSON(arguments); err == nil {
		note.Statement = audit.Statement(t.name + " " + string(masked))
	}
}

func failed(err error) any {
	message := fault.Classify(err).Message
	if errors.Is(err, errCancelled) {
		message = "The call was cancelled"
	}
	return map[string]any{"content": []any{map[string]any{"type": "text", "text": message}}, "isError": true}
}
