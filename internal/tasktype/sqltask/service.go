package sqltask

import (
	"context"
	"io"
	"maps"
	"slices"

	"github.com/hengedb/henge/internal/audit"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/broker"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/sql"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasktype"
)

// Service is the interface of the Overlord for the endpoints of asynchronous SQL.
type Service struct {
	queue      *task.Queue
	controller *Controller
	broker     *broker.Broker
	files      *tasktype.Files
	deep       deepstore.Store
}

// NewService returns the service over a queue that runs the task kind of the controller.
func NewService(queue *task.Queue, controller *Controller, b *broker.Broker, files *tasktype.Files, deep deepstore.Store) *Service {
	return &Service{queue, controller, b, files, deep}
}

// Submit implements statements.Tasks.
func (s *Service) Submit(ctx context.Context, req *query.Request) (*task.Task, query.Rows, error) {
	for _, reserved := range []string{querycontext.InsertGrain.Key(), querycontext.ReplacedChunks.Key()} {
		if _, ok := req.Context[reserved]; ok {
			return nil, nil, fault.InvalidInput("Query context parameter [%s] is not allowed", reserved)
		}
	}
	note := audit.Of(ctx)
	if note != nil {
		note.Door, note.QueryID, note.Statement = "statement", req.ID, audit.Statement(req.SQL)
	}
	req.Kept = true
	p, err := s.broker.Prepare(ctx, req, sql.MSQ)
	if err != nil {
		return nil, nil, err
	}
	if note != nil {
		if err := tell(ctx, note, req, p); err != nil {
			return nil, nil, err
		}
	}
	if p.Explain || p.Analyze {
		rows, err := s.broker.Rows(ctx, p, req.ID)
		return nil, rows, err
	}
	t, err := s.controller.NewTask(ctx, req, p)
	if err != nil {
		return nil, nil, err
	}
	return t, nil, s.queue.Submit(ctx, t)
}

// tell completes what the audit is told of a statement.
func tell(ctx context.Context, note *audit.Note, req *query.Request, p *broker.Prepared) error {
	for _, r := range p.Resources {
		if r.Type == string(auth.Datasource) {
			note.DataSources = append(note.DataSources, r.Name)
		}
	}
	seen, err := p.Seen(ctx, req.SQL)
	if err != nil || seen == nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(seen.Rules)) {
		for _, r := range seen.Rules[name] {
			note.Policies = append(note.Policies, "role ["+r.Role+"] on ["+name+"]")
		}
	}
	return nil
}

// Find implements statements.Tasks.
func (s *Service) Find(ctx context.Context, id string) (*task.Status, error) {
	return s.queue.Find(ctx, id)
}

// Stop implements statements.Tasks.
func (s *Service) Stop(ctx context.Context, id, reason string) (bool, error) {
	return s.queue.Stop(ctx, id, reason)
}

// Results implements statements.Tasks.
func (s *Service) Results(ctx context.Context, id string) (*msq.Results, error) {
	return msq.OpenResults(ctx, s.deep, id)
}

// Report implements statements.Tasks.
func (s *Service) Report(ctx context.Context, id string, alias bool) (io.ReadCloser, error) {
	return s.files.Report(ctx, id, alias)
}
