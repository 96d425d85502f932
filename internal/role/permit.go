package role

import (
	"context"
	"encoding/json"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/overlord/scheduled"
	"github.com/hengedb/henge/internal/supervisor"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasktype/batch"
	"github.com/hengedb/henge/internal/tasktype/move"
	"github.com/hengedb/henge/internal/tasktype/sqltask"
)

// taskNeeds returns what a task that is submitted needs beside writing its datasource: a task can
// do all that the process can, so that what it reads is asked for here (docs/security.md).
func (s *services) taskNeeds(ctx context.Context, access *auth.Access, t *task.Task) ([]auth.Need, error) {
	switch t.Type {
	case sqltask.ControllerType:
		return nil, s.controller.Permit(ctx, access, t)
	case batch.ParallelType, batch.SimpleType:
		var w struct {
			Spec struct {
				IO struct {
					Source json.RawMessage `json:"inputSource"`
				} `json:"ioConfig"`
			} `json:"spec"`
		}
		if err := json.Unmarshal(t.Payload, &w); err != nil || len(w.Spec.IO.Source) == 0 {
			return nil, nil //nolint:nilerr // the task says what is wrong with its specification
		}
		source, err := ingest.ParseSource(w.Spec.IO.Source)
		if err == nil {
			err = ingest.PermitUploads(ctx, leadingUploads{s}, source, access.Name())
		}
		if err != nil {
			return nil, err
		}
		return sourceNeeds(ctx, access, w.Spec.IO.Source)
	case batch.CompactType:
		return []auth.Need{auth.Reads(auth.Datasource, t.DataSource)}, whole(ctx, access, t.DataSource)
	case task.KillType, task.NoopType, move.Type, move.ArchiveType, move.RestoreType:
		return nil, nil
	}
	if !access.Options().InputSources {
		return nil, nil
	}
	for _, kind := range streamTypes {
		if t.Type == spec.StreamTaskType(kind) {
			return []auth.Need{auth.Reads(auth.External, kind)}, nil
		}
	}
	return nil, fault.InvalidInput("Task type [%s] can't tell its input sources, which setting [service.auth.enableInputSourceSecurity] "+
		"asks for", t.Type)
}

// sourceNeeds are those of an input source: reading its datasources, and with input source security
// its types.
func sourceNeeds(ctx context.Context, access *auth.Access, source json.RawMessage) (out []auth.Need, err error) {
	types, dataSources, err := ingest.Reads(source)
	if err != nil {
		return nil, err
	}
	for _, name := range dataSources {
		out = append(out, auth.Reads(auth.Datasource, name))
		if err := whole(ctx, access, name); err != nil {
			return nil, err
		}
	}
	if access.Options().InputSources {
		for _, kind := range types {
			out = append(out, auth.Reads(auth.External, kind))
		}
	}
	return out, nil
}

// whole refuses a task that reads a datasource of which rules show its user only a part.
func whole(ctx context.Context, access *auth.Access, dataSource string) error {
	g, err := access.Grant(ctx, auth.Reads(auth.Datasource, dataSource))
	if err == nil && g.Allowed && auth.Together(g.Rules) != nil {
		err = fault.Forbidden("Rules show only a part of datasource [%s] to this user; tasks read whole datasources", dataSource)
	}
	return err
}

// supervisorNeeds returns what a new supervisor needs beside writing its datasources.
func (s *services) supervisorNeeds(ctx context.Context, access *auth.Access, v *supervisor.Supervisor) ([]auth.Need, error) {
	if of, ok := v.Spec.(scheduled.Spec); ok {
		return nil, scheduledStatements{s}.permit(ctx, access, of.Statement())
	}
	for _, kind := range streamTypes {
		if v.Type == kind && access.Options().InputSources {
			return []auth.Need{auth.Reads(auth.External, kind)}, nil
		}
	}
	return nil, nil
}

// dataSourceOf returns the datasource of a task; "": it is not known.
func (s *services) dataSourceOf(ctx context.Context, id string) (string, error) {
	t, err := s.queue.Find(ctx, id)
	if err != nil || t == nil {
		return "", err
	}
	return t.Task.DataSource, nil
}
