package statements

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/task"
)

// report is what a statement's status takes from its task's report.
type report struct {
	stages, counters, warnings json.RawMessage
	failure                    map[string]json.RawMessage // the member "error" of the error report, nil if none
	pushed                     int64
}

// maxReportBytes bounds what is read of a report; the rows of a query that stand in it are not
// needed here.
const maxReportBytes = 64 << 20

// report reads a task's report; nil if there is none.
func (a *API) report(ctx context.Context, id string, alias bool) (*report, error) {
	r, err := a.tasks.Report(ctx, id, alias)
	if r == nil || err != nil {
		return nil, err
	}
	defer r.Close()
	var wire struct {
		MultiStageQuery struct {
			Payload struct {
				Status struct {
					ErrorReport *struct {
						Error map[string]json.RawMessage `json:"error"`
					} `json:"errorReport"`
					Warnings json.RawMessage `json:"warnings"`
				} `json:"status"`
				Stages   json.RawMessage                                  `json:"stages"`
				Counters map[string]map[string]map[string]json.RawMessage `json:"counters"`
			} `json:"payload"`
		} `json:"multiStageQuery"`
	}
	if err := json.NewDecoder(secret.HeldBy(ctx).Reader(io.LimitReader(r, maxReportBytes))).Decode(&wire); err != nil {
		return nil, fmt.Errorf("reading the report of task [%s]: %w", id, err)
	}
	p := &wire.MultiStageQuery.Payload
	out := &report{stages: p.Stages, warnings: p.Status.Warnings}
	if len(out.warnings) == 0 {
		out.warnings = json.RawMessage("[]")
	}
	if p.Status.ErrorReport != nil {
		out.failure = p.Status.ErrorReport.Error
	}
	if out.counters, err = jsontext.Marshal(p.Counters); err != nil {
		return nil, fmt.Errorf("encoding the counters of task [%s]: %w", id, err)
	}
	for _, workers := range p.Counters {
		for _, counters := range workers {
			var progress struct {
				RowsPushed int64 `json:"rowsPushed"`
			}
			if raw, ok := counters["segmentGenerationProgress"]; ok && json.Unmarshal(raw, &progress) == nil {
				out.pushed += progress.RowsPushed
			}
		}
	}
	return out, nil
}

func (r *report) rowsPushed() int64 {
	if r == nil {
		return 0
	}
	return r.pushed
}

// errorDetails is the error object of a statement that failed: the engine's fault where the report
// has one, else the task's error.
func errorDetails(ctx context.Context, s *task.Status, rep *report) *edge.Body {
	f := &fault.Error{
		Persona: fault.Developer, Category: fault.CategoryUncategorized, Code: "general", Legacy: fault.LegacyUnknown, Message: s.Error,
	}
	if rep != nil && rep.failure != nil {
		f.Persona, f.Context = fault.User, map[string]string{}
		for name, raw := range rep.failure {
			text := string(raw)
			var s string
			if json.Unmarshal(raw, &s) == nil {
				text = s
			}
			switch name {
			case "errorCode":
				f.Code = text
			case "errorMessage":
				f.Message = text
			default:
				f.Context[name] = text
			}
		}
	}
	b := edge.ErrorsOf(ctx).Body(f)
	return &b
}
