package role

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/overlord/scheduled"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/sql"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasktype/sqltask"
)

// openScheduled makes what runs statements by the clock.
func (s *services) openScheduled() *scheduled.Kind {
	kind := scheduled.New(scheduled.Options{
		Statements: scheduledStatements{s}, Store: s.n.store, Clock: s.n.o.Clock, Log: s.n.o.Log,
	})
	s.leads[cluster.Overlord] = append(s.leads[cluster.Overlord], kind.Run)
	return kind
}

// scheduledStatements runs statements as their endpoint does. It implements scheduled.Statements.
type scheduledStatements struct{ s *services }

// request reads what is to be run.
func (scheduledStatements) request(text json.RawMessage) (*query.Request, error) {
	var w struct {
		Query      string            `json:"query"`
		Context    map[string]any    `json:"context"`
		Parameters []query.Parameter `json:"parameters"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&w); err != nil {
		return nil, fault.InvalidInput("The [spec] of a scheduled statement is not readable: [%s]", fault.JSONProblem(err)).WithCause(err)
	}
	if w.Context == nil {
		w.Context = map[string]any{}
	}
	id := query.NewID()
	w.Context[querycontext.SQLQueryID.Key()] = id
	return &query.Request{SQL: w.Query, Context: w.Context, Parameters: w.Parameters, ID: id}, nil
}

// permit refuses a statement that somebody may not run.
func (r scheduledStatements) permit(ctx context.Context, access *auth.Access, text json.RawMessage) error {
	req, err := r.request(text)
	if err != nil {
		return err
	}
	req.User, req.Access = access.Name(), access
	_, err = r.s.broker.Prepare(ctx, req, sql.MSQ)
	return err
}

// Target implements scheduled.Statements.
func (r scheduledStatements) Target(ctx context.Context, text json.RawMessage) (string, error) {
	req, err := r.request(text)
	if err != nil {
		return "", err
	}
	p, err := r.s.broker.Prepare(ctx, req, sql.MSQ)
	if err != nil {
		return "", err
	}
	if p.Target == nil || p.Explain || p.Analyze {
		return "", fault.InvalidInput("The [query] of a supervisor of type [%s] must be an INSERT or REPLACE into a datasource", scheduled.Type)
	}
	return p.Target.DataSource, nil
}

// Submit implements scheduled.Statements.
func (r scheduledStatements) Submit(ctx context.Context, text json.RawMessage) (string, error) {
	req, err := r.request(text)
	if err != nil {
		return "", err
	}
	service := sqltask.NewService(r.s.queue, r.s.controller, r.s.broker, r.s.files, r.s.deep)
	t, _, err := service.Submit(ctx, req)
	if err != nil {
		return "", err
	}
	if t == nil {
		return "", fault.InvalidInput("The [query] of a supervisor of type [%s] must be an INSERT or REPLACE into a datasource", scheduled.Type)
	}
	return t.ID, nil
}

// Find implements scheduled.Statements.
func (r scheduledStatements) Find(ctx context.Context, id string) (*task.Status, error) {
	return r.s.queue.Find(ctx, id)
}
