package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/vector"
)

// analysis is the answer to EXPLAIN ANALYZE: what running a statement took, in all and by operator.
type analysis struct {
	PlanningMillis float64  `json:"planningMs"`
	RunningMillis  float64  `json:"runningMs"`
	Rows           int64    `json:"rows"`
	MemoryBytes    int64    `json:"memoryBytes"` // the most held at once
	SpilledBytes   int64    `json:"spilledBytes"`
	Plan           analyzed `json:"plan"`
}

// analyzed is one operator. Its time has that of its inputs in it, as far as they don't run on workers of their own; of an operator on
// several workers it is the sum.
type analyzed struct {
	Operator     string        `json:"operator"`
	Detail       string        `json:"detail"`
	Rows         int64         `json:"rows"`
	Batches      int64         `json:"batches"`
	Bytes        int64         `json:"bytes"`
	TimeMillis   float64       `json:"timeMs"`
	Workers      int           `json:"workers"`
	MemoryBytes  int64         `json:"memoryBytes"`
	SpilledBytes int64         `json:"spilledBytes"`
	Segments     *segmentsRead `json:"segments,omitempty"`
	Inputs       []analyzed    `json:"inputs,omitempty"`
}

// segmentsRead are the segments of a scan's datasource: those outside of its intervals and those without a row that can count are pruned.
type segmentsRead struct {
	Total   int64 `json:"total"`
	Scanned int64 `json:"scanned"`
	Pruned  int64 `json:"pruned"`
	// Rows is how many rows of the scanned segments were looked at.
	Rows int64 `json:"rows"`
}

// analyze runs a statement, throws its rows away, and answers with what it took: a line for each operator, or with AS JSON one object.
func (b *Broker) analyze(ctx context.Context, p *Prepared, id string, r *rows) (*rows, error) {
	node := b.Optimize(p)
	planned := b.o.Clock.Now()
	env, done := b.Env(p, "query "+id)
	defer done()
	profile := exec.NewProfile(b.o.Clock)
	env.Profile = profile
	var disk *budget.Budget
	env.Spill, disk = env.Spill.Child("query " + id)
	out := analysis{PlanningMillis: millis(planned.Sub(p.began))}
	err := exec.Protect(func() error {
		op, err := exec.Build(ctx, node, env)
		if err != nil {
			return err
		}
		defer op.Close()
		return exec.Drain(ctx, op, func(b *vector.Batch) error {
			out.Rows += int64(b.Rows())
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	out.RunningMillis = millis(b.o.Clock.Now().Sub(planned))
	out.MemoryBytes, out.SpilledBytes = env.Budget.Peak(), disk.Peak()
	out.Plan = b.analyzed(p, profile, node)
	lines := out.text()
	if p.AsJSON {
		text, err := json.Marshal(out)
		if err != nil {
			return nil, fmt.Errorf("writing the analysis of a query: %w", err)
		}
		lines = []string{string(text)}
	}
	r.columns = []result.Column{{Name: "PLAN", Type: expr.Of(expr.Varchar)}}
	r.op = &oneBatch{&vector.Batch{N: len(lines), Cols: []*vector.Vector{vector.FromStrings(lines)}}}
	return r, nil
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (b *Broker) analyzed(p *Prepared, profile *exec.Profile, n plan.Node) analyzed {
	detail := plan.FormatOne(n)
	name, _, _ := strings.Cut(detail, " ")
	out := analyzed{Operator: name, Detail: detail}
	if did := profile.Of(n); did != nil {
		out.Rows, out.Batches, out.Bytes, out.TimeMillis, out.Workers = did.Rows, did.Batches, did.Bytes, millis(did.Time), did.Workers
		out.MemoryBytes, out.SpilledBytes = did.Memory, did.Spilled
		if scan, ok := n.(*plan.Scan); ok && did.Scan != nil {
			s := &segmentsRead{Scanned: did.Scan.Scanned, Rows: did.Scan.Rows}
			for _, holder := range p.State.Timeline(scan.DataSource).Lookup(chrono.Eternity) {
				s.Total += int64(len(holder.Segments()))
			}
			s.Pruned = s.Total - did.Scan.Segments + did.Scan.Pruned
			out.Segments = s
		}
	}
	for _, c := range n.Inputs() {
		out.Inputs = append(out.Inputs, b.analyzed(p, profile, c))
	}
	return out
}

// text returns a line for each operator, its inputs indented below it, and a last line for the statement.
func (a *analysis) text() []string {
	lines := a.Plan.lines(nil, 0)
	last := fmt.Sprintf("%d rows; planning %.3f ms, running %.3f ms, memory %d bytes", a.Rows, a.PlanningMillis, a.RunningMillis, a.MemoryBytes)
	if a.SpilledBytes > 0 {
		last += fmt.Sprintf(", spilled %d bytes", a.SpilledBytes)
	}
	return append(lines, last)
}

func (a *analyzed) lines(lines []string, depth int) []string {
	line := strings.Repeat("  ", depth) + a.Detail
	if a.Workers > 0 {
		line += fmt.Sprintf(" (rows=%d bytes=%d time=%.3fms", a.Rows, a.Bytes, a.TimeMillis)
		if a.Workers > 1 {
			line += fmt.Sprintf(" workers=%d", a.Workers)
		}
		if a.MemoryBytes > 0 {
			line += fmt.Sprintf(" memory=%d", a.MemoryBytes)
		}
		if a.SpilledBytes > 0 {
			line += fmt.Sprintf(" spilled=%d", a.SpilledBytes)
		}
		if s := a.Segments; s != nil {
			line += fmt.Sprintf(" segments=%d scanned=%d pruned=%d looked_at=%d", s.Total, s.Scanned, s.Pruned, s.Rows)
		}
		line += ")"
	}
	lines = append(lines, line)
	for i := range a.Inputs {
		lines = a.Inputs[i].lines(lines, depth+1)
	}
	return lines
}
