package ingest

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/wire"
	"github.com/hengedb/henge/internal/javaregex"
	"github.com/hengedb/henge/internal/jsontext"
)

// Regex is the format that reads each line as a record. Its columns are the groups of a pattern,
// which must match the whole line.
type Regex struct {
	Columns       []string
	ListDelimiter string

	wire regexWire
}

type regexWire struct {
	Type          string   `json:"type"`
	Pattern       string   `json:"pattern"`
	ListDelimiter *string  `json:"listDelimiter,omitempty"`
	Columns       []string `json:"columns,omitempty"`
}

// regexTime bounds the match of one line.
const regexTime = time.Second

func parseRegex(text json.RawMessage) (Format, error) {
	f := &Regex{ListDelimiter: "\x01"}
	if err := wire.Decode("inputFormat", text, &f.wire); err != nil {
		return nil, err
	}
	if f.wire.Pattern == "" {
		return nil, wire.Invalid("inputFormat", "a regex format needs a 'pattern'")
	}
	if f.wire.ListDelimiter != nil {
		f.ListDelimiter = *f.wire.ListDelimiter
	}
	pattern, err := f.compile()
	if err != nil {
		return nil, err
	}
	f.Columns = f.wire.Columns
	if twice := Duplicates(f.Columns); twice != "" {
		return nil, wire.Invalid("inputFormat", "%s", twice)
	}
	if len(f.Columns) == 0 {
		for i := range pattern.Groups {
			f.Columns = append(f.Columns, "column_"+strconv.Itoa(i+1))
		}
	}
	return f, nil
}

func (f *Regex) compile() (*javaregex.LinePattern, error) {
	return javaregex.CompileLines(f.wire.Pattern, "regex input format", regexTime)
}

// Type returns "regex".
func (f *Regex) Type() string { return "regex" }

// MarshalJSON returns the JSON form.
func (f *Regex) MarshalJSON() ([]byte, error) {
	f.wire.Type = "regex"
	return jsontext.Marshal(f.wire)
}

func (*Regex) flattening() *flattening { return nil }

func (*Regex) begin([]byte) cutter { return lineCutter{} }

func (*Regex) head() head { return head{} }

func (f *Regex) open(fields []Field, _ []string, opts *Options) (decoder, error) {
	return newObjectColumns(f.objects(nil), nil, fields, opts), nil
}

func (f *Regex) objects([]string) objectDecoder {
	pattern, err := f.compile()
	return &regexObjects{f: f, pattern: pattern, err: err}
}

// regexObjects makes objects of lines. Its pattern is its own: matching is not for several
// goroutines.
type regexObjects struct {
	f       *Regex
	pattern *javaregex.LinePattern
	err     error
}

func (d *regexObjects) objects(c chunk, emit func(Record)) {
	eachLine(c, func(text []byte, line int64) {
		r := Record{Text: text, Line: line}
		switch {
		case c.broken:
			r.Reason = recordTooLarge
		case d.err != nil:
			r.Reason = fault.Words(d.err)
		default:
			r.Object, r.Reason = d.object(string(text))
		}
		emit(r)
	})
}

func (d *regexObjects) object(line string) (o *record.Object, reason string) {
	groups, err := d.pattern.Match(line)
	if err != nil {
		return nil, fault.Words(err)
	}
	if groups == nil {
		return nil, "it does not match the pattern"
	}
	o = &record.Object{}
	for i, name := range d.f.Columns[:min(len(groups), len(d.f.Columns))] {
		switch g := groups[i]; {
		case g == nil:
			o.Add(name, nil)
		case d.f.ListDelimiter != "" && strings.Contains(*g, d.f.ListDelimiter):
			var list []any
			for part := range strings.SplitSeq(*g, d.f.ListDelimiter) {
				list = append(list, part)
			}
			o.Add(name, list)
		default:
			o.Add(name, *g)
		}
	}
	return o, ""
}
