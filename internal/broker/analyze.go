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
	"github.com/hengedb/henge/internal/query"
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
	CPUMillis      float64  `json:"cpuMs"` // of all processes
	Plan           analyzed `json:"plan"`
}

// analyzed is one operator: what it did in all processes, and of those beside the Broker what it
// did in each.
type analyzed struct {
	Operator string `json:"operator"`
	Detail   string `json:"detail"`
	did
	Servers []serverDid `json:"servers,omitempty"`
	// SilentParts is how many servers' parts of the work are not counted: they did not tell, or were
	// stopped before the end.
	SilentParts int        `json:"silentParts,omitempty"`
	Inputs      []analyzed `json:"inputs,omitempty"`
}

// did are the counters of an operator. Its time has that of its inputs in it, as far as they don't
// run on workers of their own; of an operator on several workers it is the sum.
type did struct {
	Rows         int64         `json:"rows"`
	Batches      int64         `json:"batches"`
	Bytes        int64         `json:"bytes"`
	TimeMillis   float64       `json:"timeMs"`
	Workers      int           `json:"workers"`
	MemoryBytes  int64         `json:"memoryBytes"`
	SpilledBytes int64         `json:"spilledBytes"`
	CPUMillis    float64       `json:"cpuMs,omitempty"` // of a server for its part of the query, at the uppermost operator of that
	Segments     *segmentsRead `json:"segments,omitempty"`
}

// serverDid are the counters of an operator on a server, and on those whose shares it merged with
// its own, which are not in its own counters. Its segments are those that it read itself.
type serverDid struct {
	Server string `json:"server"`
	did
	Servers     []serverDid `json:"servers,omitempty"`
	SilentParts int         `json:"silentParts,omitempty"`
}

// segmentsRead are the segments of a scan's datasource: those outside of its intervals and those
// without a row that can count are pruned.
type segmentsRead struct {
	Total   int64 `json:"total"`
	Scanned int64 `json:"scanned"`
	Pruned  int64 `json:"pruned"`
	// Rows is how many rows of the scanned segments were looked at.
	Rows int64 `json:"rows"`
}

// analyze runs a statement, throws its rows away, and answers with what it took: a line for each
// operator, or with AS JSON one object.
func (b *Broker) analyze(ctx context.Context, p *Prepared, id string, r *rows) (query.Rows, error) {
	node := b.Optimize(ctx, p)
	if b.o.RequireTime {
		if err := plan.CheckTimeBounds(node); err != nil {
			return nil, err
		}
	}
	planned := b.o.Clock.Now()
	leave, err := b.admit(ctx, p, node, id)
	if err != nil {
		return nil, err
	}
	defer leave()
	env, done := b.Env(p, "query "+id)
	defer done()
	answer := p.query.Counted(r, env.Budget.Peak)
	env.Progress = p.query.Progress()
	profile := exec.NewProfile(b.o.Clock)
	env.Profile = profile
	var disk *budget.Budget
	env.Spill, disk = env.Spill.Child("query " + id)
	if s := b.clusterScan(p, id, env, cacheOptions{}); s != nil { // what is kept tells nothing of the operators
		env.Cluster = s
	}
	b.anew(p, env)
	out := analysis{PlanningMillis: millis(planned.Sub(p.began))}
	err = exec.Protect(func() error {
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
	out.Plan = b.analyzed(p, profile, node, map[int]bool{})
	cpu := env.Share.Computed()
	b.o.Meter.Micros(b.measured("query/cpu/time", id), cpu)
	out.CPUMillis = millis(cpu) + out.Plan.cpu()
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
	return answer, nil
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// analyzed tells of n and what is below it. The inputs of what is computed once and read in several
// places are there once; shared has the ids that were met.
func (b *Broker) analyzed(p *Prepared, profile *exec.Profile, n plan.Node, shared map[int]bool) analyzed {
	detail := plan.FormatOne(n)
	name, _, _ := strings.Cut(detail, " ")
	out := analyzed{Operator: name, Detail: detail}
	servers, silent := profile.Servers(n)
	var all exec.NodeProfile
	here := profile.Of(n)
	if here != nil {
		all.Merge(here)
	}
	out.Servers = serversDid(servers)
	for i := range servers {
		all.MergeAll(&servers[i])
	}
	if here != nil && merges(n) { // what servers gave went in and not out
		all.Rows, all.Batches, all.Bytes = here.Rows, here.Batches, here.Bytes
	}
	out.did, out.SilentParts = didOf(&all), silent
	if scan, ok := n.(*plan.Scan); ok && out.Segments != nil {
		overlapping := out.Segments.Total
		out.Segments.Total = 0
		for _, holder := range p.State.Timeline(scan.DataSource).Lookup(chrono.Eternity) {
			out.Segments.Total += int64(len(holder.Segments()))
		}
		out.Segments.Total += int64(len(b.tablesOf(p).growing(&plan.Scan{DataSource: scan.DataSource})))
		if silent == 0 { // else some of the others were not told of
			out.Segments.Pruned += out.Segments.Total - overlapping
		}
	}
	if x, ok := n.(*plan.Shared); ok {
		if shared[x.ID] {
			out.Detail += ", as above"
			return out
		}
		shared[x.ID] = true
		out.Inputs = append(out.Inputs, b.analyzed(p, profile, profile.InputOf(x), shared))
		return out
	}
	for _, c := range n.Inputs() {
		out.Inputs = append(out.Inputs, b.analyzed(p, profile, c, shared))
	}
	return out
}

func serversDid(servers []exec.ServerProfile) (out []serverDid) {
	for i := range servers {
		s := &servers[i]
		out = append(out, serverDid{Server: s.Server, did: didOf(&s.NodeProfile), Servers: serversDid(s.Others), SilentParts: s.Silent})
	}
	return out
}

// cpu is the time that cores have computed on other servers.
func (a *analyzed) cpu() (millis float64) {
	for i := range a.Servers {
		millis += a.Servers[i].cpu()
	}
	for i := range a.Inputs {
		millis += a.Inputs[i].cpu()
	}
	return millis
}

// cpu is the time that cores have computed on a server and on those whose shares it merged.
func (s *serverDid) cpu() (millis float64) {
	millis = s.CPUMillis
	for i := range s.Servers {
		millis += s.Servers[i].cpu()
	}
	return millis
}

// merges reports whether an operator makes one result of those that servers have of their segments.
func merges(n plan.Node) bool {
	switch n.(type) {
	case *plan.Aggregate, *plan.Sort:
		return true
	}
	return false
}

func didOf(p *exec.NodeProfile) did {
	out := did{
		Rows: p.Rows, Batches: p.Batches, Bytes: p.Bytes, TimeMillis: millis(p.Time), Workers: p.Workers, MemoryBytes: p.Memory, SpilledBytes: p.Spilled,
		CPUMillis: millis(p.CPU),
	}
	if s := p.Scan; s != nil {
		out.Segments = &segmentsRead{Total: s.Segments, Scanned: s.Scanned, Pruned: s.Pruned, Rows: s.Rows}
	}
	return out
}

// text returns a line for each operator, its inputs indented below it, and a last line for the
// statement.
func (a *analysis) text() []string {
	lines := a.Plan.lines(nil, 0)
	last := fmt.Sprintf("%d rows; planning %.3f ms, running %.3f ms, cpu %.3f ms, memory %d bytes", a.Rows, a.PlanningMillis, a.RunningMillis, a.CPUMillis, a.MemoryBytes)
	if a.SpilledBytes > 0 {
		last += fmt.Sprintf(", spilled %d bytes", a.SpilledBytes)
	}
	return append(lines, last)
}

func (a *analyzed) lines(lines []string, depth int) []string {
	indent := strings.Repeat("  ", depth)
	line := indent + a.Detail
	if a.Workers > 0 {
		line += " (" + a.text() + ")"
	}
	lines = append(lines, line+silence(a.SilentParts))
	for i := range a.Servers {
		lines = a.Servers[i].lines(lines, indent+"  | ")
	}
	for i := range a.Inputs {
		lines = a.Inputs[i].lines(lines, depth+1)
	}
	return lines
}

// lines has those whose shares the server merged indented below it.
func (s *serverDid) lines(lines []string, indent string) []string {
	lines = append(lines, indent+s.Server+" ("+s.text()+")"+silence(s.SilentParts))
	for i := range s.Servers {
		lines = s.Servers[i].lines(lines, indent+"| ")
	}
	return lines
}

func silence(parts int) string {
	if parts == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d parts not counted)", parts)
}

func (d *did) text() string {
	text := fmt.Sprintf("rows=%d bytes=%d time=%.3fms", d.Rows, d.Bytes, d.TimeMillis)
	if d.CPUMillis > 0 {
		text += fmt.Sprintf(" cpu=%.3fms", d.CPUMillis)
	}
	if d.Workers > 1 {
		text += fmt.Sprintf(" workers=%d", d.Workers)
	}
	if d.MemoryBytes > 0 {
		text += fmt.Sprintf(" memory=%d", d.MemoryBytes)
	}
	if d.SpilledBytes > 0 {
		text += fmt.Sprintf(" spilled=%d", d.SpilledBytes)
	}
	if s := d.Segments; s != nil {
		text += fmt.Sprintf(" segments=%d scanned=%d pruned=%d looked_at=%d", s.Total, s.Scanned, s.Pruned, s.Rows)
	}
	return text
}
