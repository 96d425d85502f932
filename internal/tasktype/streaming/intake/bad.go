package intake

import (
	"strconv"

	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/stream"
)

// Types of bad rows.
const (
	// Unparseable is no row.
	Unparseable = "unparseable"
	// ProcessedWithError is a row that has null where a value is not what it must be.
	ProcessedWithError = "processedWithError"
)

// BadRow is a record that is no row, or not wholly one. It is valid while OnBad runs.
type BadRow struct {
	// Type is Unparseable or ProcessedWithError, Input the record as it is shown, cut where it is
	// long.
	Type, Input string
	Details     []string
	// Reason says more than Details do; "": it does not.
	Reason string
	// Record is the record that it is of, or is a part of.
	Record *stream.Record
}

// badRow says what is wrong with a record, in the words of the interface.
func (m *Maker) badRow(e *ingest.ParseError, records []stream.Record) *BadRow {
	b := &BadRow{Type: Unparseable, Reason: e.Reason, Record: &records[e.Message]}
	place := " (Record: " + strconv.FormatInt(max(e.Record, 1), 10) + ")"
	switch {
	case e.Object == nil && e.Reason == ingest.EmptyMessage:
		b.Details = []string{"Unable to parse [] as the intermediateRow resulted in empty input row" + place}
		return b
	case e.Object == nil:
		b.Input = e.Row
		b.Details = []string{"Unable to parse row [" + e.Row + "]" + place}
		return b
	}
	b.Input = shown(e.Object)
	if _, problem := m.o.Schema.Time.Of(e.Flat, e.Flat); problem != "" {
		b.Details, b.Reason = []string{problem + place}, "it has no time"
		return b
	}
	b.Type, b.Input = ProcessedWithError, shown(e.Flat)
	seen := map[string]bool{}
	for i := range m.plan.Fields {
		f := &m.plan.Fields[i]
		v, _ := e.Flat.Get(f.Name)
		if f.Number == "" || v == nil || isNumber(v) || seen[f.Name+f.Number] {
			continue
		}
		seen[f.Name+f.Number] = true
		text := string(record.AppendText(nil, v))
		if m.plan.dimensions[f.Name] {
			b.Details = append(b.Details, "Could not convert value ["+text+"] to "+f.Number+" for dimension ["+f.Name+"].")
		} else {
			b.Details = append(b.Details, "Unable to parse value["+text+"] for field["+f.Name+"]")
		}
	}
	return b
}

// maxShown cuts the text of a record.
const maxShown = 1024

// shown is a record as the interface shows it.
func shown(o *record.Object) string {
	text := record.AppendText(nil, o)
	if len(text) > maxShown {
		return string(record.ValidText(text[:maxShown])) + "..."
	}
	return string(text)
}

func isNumber(v any) bool {
	if s, ok := v.(string); ok && s == "" {
		return true // no value
	}
	_, _, _, ok := record.NumberOf(v)
	return ok
}
