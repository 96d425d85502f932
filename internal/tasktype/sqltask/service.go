package sqltask

import (
	"context"
	"io"

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

// Service is the Overlord as the endpoints for asynchronous SQL see it.
type Service struct {
	queue      *task.Queue
	controller *Controller
	broker     *broker.Broker
	files      *tasktype.Files
	deep       deepstore.Store
}

// NewService returns the service on a queue that runs the controller's kind of task.
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
	p, err := s.broker.Prepare(ctx, req, sql.MSQ)
	if err != nil {
		return nil, nil, err
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
