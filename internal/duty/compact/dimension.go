package compact

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
)

// DimensionsSpec lists the dimensions in order.
type DimensionsSpec struct {
	Dimensions []Dimension `json:"dimensions"`
}

// Dimension is a column as an object, with defaults. In JSON, a bare name is a string column.
type Dimension struct {
	name string
	// text is the object; key is what two equal columns have in common.
	text json.RawMessage
	key  string
}

// plainTypes are the types of dimensions whose every member is known.
var plainTypes = []string{"string", "long", "double", "float"}

var multiValueHandlings = []string{"SORTED_ARRAY", "SORTED_SET", "ARRAY"}

// UnmarshalJSON parses a name or an object.
func (d *Dimension) UnmarshalJSON(text []byte) error {
	fields := struct {
		Type   string `json:"type"`
		Name   string `json:"name"`
		Multi  string `json:"multiValueHandling"`
		Bitmap *bool  `json:"createBitmapIndex"`
	}{Type: "string", Multi: "SORTED_ARRAY"}
	if json.Unmarshal(text, &fields.Name) != nil {
		if err := json.Unmarshal(text, &fields); err != nil || fields.Name == "" {
			return fault.InvalidInput("A dimension must be a name, or an object with a name")
		}
	}
	if fields.Name == "" {
		return fault.InvalidInput("A dimension must have a name")
	}
	fields.Type = strings.ToLower(fields.Type)
	fields.Multi = strings.ToUpper(fields.Multi)
	if !slices.Contains(multiValueHandlings, fields.Multi) {
		return fault.InvalidInput("multiValueHandling [%s] of dimension [%s] is unknown; use one of %v", fields.Multi, fields.Name, multiValueHandlings)
	}
	d.name = fields.Name
	if !slices.Contains(plainTypes, fields.Type) { // nested and automatic columns, and those of later releases
		shown, err := jsontext.Defaults{fields.Type: {"multiValueHandling": strconv.Quote(fields.Multi), "createBitmapIndex": "true"}}.Fill("dimensionsSpec", text, fields.Type)
		if err != nil {
			return err
		}
		d.text = shown
		d.key, err = canonical(shown)
		return err
	}
	if fields.Bitmap == nil {
		bitmap := fields.Type == "string"
		fields.Bitmap = &bitmap
	}
	shown, err := json.Marshal(fields)
	d.text, d.key = shown, fields.Type+" "+fields.Name
	if fields.Type == "string" { // others have neither lists nor a choice of indexes
		d.key = string(shown)
	}
	return err
}

// MarshalJSON returns the object.
func (d Dimension) MarshalJSON() ([]byte, error) { return d.text, nil }

// validate tests that no two dimensions have the same name.
func (s *DimensionsSpec) validate() error {
	names := s.names()
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return fault.InvalidInput("Two dimensions of the dimensionsSpec have the name [%s]", name)
		}
	}
	return nil
}

// keys lists what the dimensions have in common with equal ones, in their order, without those
// named.
func (s *DimensionsSpec) keys(without []string) []string {
	var out []string
	for _, d := range s.Dimensions {
		if !slices.Contains(without, d.name) {
			out = append(out, d.key)
		}
	}
	return out
}

// names lists the names in their order.
func (s *DimensionsSpec) names() []string {
	out := make([]string, len(s.Dimensions))
	for i, d := range s.Dimensions {
		out[i] = d.name
	}
	return out
}
