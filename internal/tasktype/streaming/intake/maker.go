package intake

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/chat"
	"github.com/hengedb/henge/internal/tasktype/rowplan"
	"github.com/hengedb/henge/internal/vector"
)

// Options say what rows are made of.
type Options struct {
	Schema *spec.DataSchema
	// Format is that of the records.
	Format ingest.Format
	// Access says what schema registries and files of descriptors may be used; nil: all.
	Access *ingest.Access
	// Env is what transforms are computed in: lookups, memory, the time; nil: they have none of these.
	Env *exec.Env
	// MinTime and MaxTime bound the times of rows that are taken, in milliseconds; nil: they don't.
	MinTime, MaxTime *int64
	// OnBad is told of records that are no rows, or not wholly. An error that it returns ends Make.
	OnBad func(*BadRow) error
}

// Reasons of rows that are thrown away.
const (
	BeforeMinimum = "beforeMinimumMessageTime"
	AfterMaximum  = "afterMaximumMessageTime"
	Filtered      = "filtered"
	Null          = "null"
)

// Made is what became of records.
type Made struct {
	// Rows are of Columns, in their order, of which the first is the time. There are never fewer
	// columns than before. They are valid until the next call of Make.
	Rows    *vector.Batch
	Columns []segment.ColumnSpec
	// Counters count the rows of the records; ThrownAway are those among them that were, by reason.
	Counters   chat.Counters
	ThrownAway map[string]int64
}

// Maker makes rows of records. It is used by one goroutine.
type Maker struct {
	o       Options
	value   json.RawMessage // the format of values
	kept    json.RawMessage // what segments keep
	columns *spec.Columns
	learns  bool
	made    map[string]bool // columns that transforms make
	minTime *int64
	maxTime *int64

	plan   *compiled
	traits []uint32        // of what was known when the plan was made
	multi  map[string]bool // string columns that had several values in a row
}

// New returns a Maker. What the schema and the format need is checked.
func New(o Options) (*Maker, error) {
	value, err := json.Marshal(ingest.ValueFormat(o.Format))
	if err != nil {
		return nil, err
	}
	m := &Maker{o: o, value: value, columns: o.Schema.NewColumns(), learns: rowplan.Learns(o.Schema), made: o.Schema.Made(),
		minTime: o.MinTime, maxTime: o.MaxTime, multi: map[string]bool{}}
	if m.kept, err = kept(o.Schema); err != nil {
		return nil, err
	}
	m.plan, err = m.compile(context.Background())
	return m, err
}

// Bound sets the times of rows that are taken; nil: they have no bound.
func (m *Maker) Bound(minTime, maxTime *int64) { m.minTime, m.maxTime = minTime, maxTime }

// Make returns the rows of records that follow each other. An error means that nothing came of
// them: they may be asked for again where it may pass (Passes).
func (m *Maker) Make(ctx context.Context, records []stream.Record) (*Made, error) {
	decoded, err := m.decode(ctx, records)
	if err != nil {
		return nil, err
	}
	made := &Made{ThrownAway: map[string]int64{}}
	made.Counters.ProcessedBytes = float64(decoded.Bytes)
	if decoded.Empty > 0 {
		made.ThrownAway[Null] = int64(decoded.Empty)
	}
	var bad []*BadRow
	flawed := map[int32]int{} // records with rows that are not wholly what they must be
	for i := range decoded.Errors {
		b := m.badRow(&decoded.Errors[i], records)
		if bad = append(bad, b); b.Type == Unparseable {
			made.Counters.Unparseable++
		} else {
			flawed[int32(decoded.Errors[i].Message)]++
		}
	}
	rows, err := m.rows(ctx, decoded, made)
	if err != nil {
		return nil, err
	}
	withErrors := 0
	for _, n := range flawed {
		withErrors += n
	}
	withErrors = min(withErrors, rows.N)
	made.Counters.ProcessedWithError = float64(withErrors)
	made.Counters.Processed = float64(rows.N - withErrors)
	for _, n := range made.ThrownAway {
		made.Counters.ThrownAway += float64(n)
	}
	made.Rows, made.Columns = rows, m.plan.specs()
	if m.o.OnBad != nil {
		for _, b := range bad {
			if err := m.o.OnBad(b); err != nil {
				return nil, err
			}
		}
	}
	return made, nil
}

// decode decodes records by the plan, and again by a new one if they show something new.
func (m *Maker) decode(ctx context.Context, records []stream.Record) (*ingest.MessageRows, error) {
	for {
		decoded, err := m.plan.messages.Decode(ctx, records)
		if err != nil {
			return nil, err
		}
		several := m.noteSeveral(decoded.Several)
		var traits []uint32
		if m.learns {
			traits = m.columns.Shape().Traits(nil)
		}
		if !several && slices.Equal(traits, m.traits) {
			return decoded, nil
		}
		next, err := m.compile(ctx)
		if err != nil {
			return nil, err
		}
		same := next.reads(m.plan)
		m.plan.close()
		if m.plan, m.traits = next, traits; same {
			return decoded, nil
		}
	}
}

// noteSeveral notes strings that had several values in a row. It reports whether the plan has read
// them as what has one.
func (m *Maker) noteSeveral(fields []int) (found bool) {
	for _, at := range fields {
		if at--; at >= 0 && m.plan.singles[at] { // the time is before those of the plan
			found, m.multi[m.plan.Fields[at].Name] = true, true
		}
	}
	return found
}

// Close frees what the plan holds.
func (m *Maker) Close() { m.plan.close() }

// Passes reports whether the same records may be made later: what they need is not there at the
// moment.
func Passes(err error) bool {
	f := fault.Find(err)
	if f == nil {
		return false
	}
	switch f.Category {
	case fault.CategoryServiceUnavailable, fault.CategoryCapacityExceeded, fault.CategoryTimeout:
		return true
	}
	return false
}
