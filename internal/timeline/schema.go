package timeline

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/hengedb/henge/internal/fault"
)

// TimeColumn is the time column of every segment; lists of dimensions omit it.
const TimeColumn = "__time"

// Schema lists the columns of a segment. It is immutable, and thousands of segments with equal
// schemas share it.
type Schema struct {
	Columns []Column

	fingerprint string
}

// Column describes one column of a segment.
type Column struct {
	Name string `json:"name"`
	// Type is the type as in JSON: LONG, DOUBLE, FLOAT, STRING, ARRAY<LONG>, COMPLEX<json>, ... Empty
	// if not known, for example in descriptors of other systems that contain only names.
	Type string `json:"type,omitempty"`
	// MultiValue is whether a STRING column may have several values in a row.
	MultiValue bool `json:"multiValue,omitempty"`
	// Metric is whether the column was aggregated at ingestion; others are dimensions.
	Metric bool `json:"metric,omitempty"`
}

// NewSchema returns the schema with these columns, which it retains.
func NewSchema(columns []Column) *Schema {
	s := &Schema{Columns: columns}
	sum := sha256.Sum256(s.JSON())
	s.fingerprint = hex.EncodeToString(sum[:])
	return s
}

// SchemaOfNames returns the schema of a descriptor that contains only names.
func SchemaOfNames(dimensions, metrics []string) *Schema {
	columns := make([]Column, 0, len(dimensions)+len(metrics))
	for _, name := range dimensions {
		columns = append(columns, Column{Name: name})
	}
	for _, name := range metrics {
		columns = append(columns, Column{Name: name, Metric: true})
	}
	return NewSchema(columns)
}

// ParseSchema parses the output of JSON.
func ParseSchema(text []byte) (*Schema, error) {
	var w struct {
		Columns []Column `json:"columns"`
	}
	if err := json.Unmarshal(text, &w); err != nil {
		return nil, fault.Malformed("The schema of a segment is not readable").WithCause(err)
	}
	return NewSchema(w.Columns), nil
}

// JSON returns the stored form: an object, so that members can be added.
func (s *Schema) JSON() []byte {
	text, err := json.Marshal(struct {
		Columns []Column `json:"columns"`
	}{slices.Concat([]Column{}, s.Columns)})
	if err != nil { // Strings and booleans always have a JSON form.
		return []byte(`{"columns":[]}`)
	}
	return text
}

// Fingerprint names the schema: SHA-256 of its JSON, in hexadecimal. Equal fingerprints are equal
// schemas.
func (s *Schema) Fingerprint() string { return s.fingerprint }

// Dimensions returns the names of the columns that are neither time nor metrics, in their order.
func (s *Schema) Dimensions() []string { return s.names(false) }

// Metrics returns the names of the metrics, in their order.
func (s *Schema) Metrics() []string { return s.names(true) }

func (s *Schema) names(metric bool) []string {
	if s == nil {
		return nil
	}
	var names []string
	for _, c := range s.Columns {
		if c.Metric == metric && c.Name != TimeColumn {
			names = append(names, c.Name)
		}
	}
	return names
}
