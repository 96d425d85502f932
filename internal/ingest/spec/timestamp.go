package spec

import (
	"encoding/json"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/record"
)

// Timestamp is a timestampSpec, the location of the time in a record.
type Timestamp struct {
	Column string
	Format *chrono.TimestampFormat
	// Missing is the time of records without a time; nil: such records are rejected.
	Missing *int64

	given   string          // the format
	missing json.RawMessage // the missingValue
}

// MarshalJSON returns the timestampSpec with its defaults.
func (t Timestamp) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"column": t.Column, "format": t.given, "missingValue": t.missing})
}

func parseTimestamp(text json.RawMessage) (Timestamp, error) {
	w := struct {
		Column  *string         `json:"column"`
		Format  *string         `json:"format"`
		Missing json.RawMessage `json:"missingValue"`
	}{}
	t := Timestamp{Column: "timestamp"}
	if err := decode("timestampSpec", text, &w); err != nil {
		return t, err
	}
	if w.Column != nil {
		t.Column = *w.Column
	}
	format := "auto"
	if w.Format != nil {
		format = *w.Format
	}
	t.given, t.missing = format, w.Missing
	var err error
	if t.Format, err = chrono.ParseTimestampFormat(format); err != nil {
		return t, err
	}
	if !absent(w.Missing) {
		var at string
		ms, number := int64(0), json.Unmarshal(w.Missing, &at) != nil
		if number {
			if json.Unmarshal(w.Missing, &ms) != nil {
				return t, fault.InvalidInput("[missingValue] in [timestampSpec] is not a time")
			}
		} else if parsed, ok := chrono.ParseISO(at); ok {
			ms = parsed
		} else {
			return t, fault.InvalidInput("[missingValue] in [timestampSpec] is not an ISO 8601 time: [%s]", at)
		}
		t.Missing = &ms
		if t.missing, err = json.Marshal(chrono.FormatMillis(ms, chrono.UTC)); err != nil {
			return t, err
		}
	}
	return t, nil
}

// Instants returns the converter from values of the column to times.
func (t *Timestamp) Instants() *ingest.Instants {
	return &ingest.Instants{Format: t.Format, Missing: t.Missing}
}

// Of returns the time of a record in milliseconds or, for a record without a time, the message of
// Druid, which shows the record found. See quirk Q011.
func (t *Timestamp) Of(o, found *record.Object) (ms int64, problem string) {
	v, _ := o.Get(t.Column)
	ms, ok := t.Instants().Of(v)
	switch {
	case !ok:
		return 0, unparseable(v, found)
	case ms < chrono.MinInstant || ms >= chrono.MaxInstant:
		return 0, "Encountered row with timestamp[" + string(record.AppendText(nil, v)) + "] that cannot be represented as a long: [" + event(found) + "]"
	}
	return ms, ""
}

func unparseable(v any, o *record.Object) string {
	return "Timestamp[" + string(record.AppendText(nil, v)) + "] is unparseable! Event: " + event(o)
}

// maxEvent cuts the text of a record in a message.
const maxEvent = 100

// event is a record as Java prints a map.
func event(o *record.Object) string {
	text := string(record.AppendText(nil, o))
	if len(text) >= maxEvent {
		text = strings.ToValidUTF8(text[:maxEvent], "") + "..."
	}
	return text
}
