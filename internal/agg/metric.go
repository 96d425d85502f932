package agg

import (
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// Metric returns the text that identifies the aggregate of a rolled-up column: its name and, if it
// has any, its constants, as in DS_HLL(14,'HLL_8').
func (s Spec) Metric() string {
	if len(s.Params) == 0 {
		return s.Name
	}
	var b strings.Builder
	b.WriteString(s.Name + "(")
	for i, p := range s.Params {
		if i > 0 {
			b.WriteByte(',')
		}
		switch x := p.(type) {
		case int64:
			b.WriteString(strconv.FormatInt(x, 10))
		case float64:
			b.WriteString(strconv.FormatFloat(x, 'e', -1, 64))
		case string:
			b.WriteString("'" + strings.ReplaceAll(x, "'", "''") + "'")
		}
	}
	return b.String() + ")"
}

// ParseMetric parses the result of Metric, and returns the aggregate that merges values of type t.
func ParseMetric(text string, t vector.Type) (Spec, error) {
	name, rest, found := strings.Cut(text, "(")
	s := Spec{Name: name, Args: []vector.Type{t}}
	if !found {
		return s, nil
	}
	damaged := fault.InvalidInput("The metric [%.100s] of a segment can't be read", text)
	for rest != ")" {
		rest = strings.TrimPrefix(rest, ",")
		if after, ok := strings.CutPrefix(rest, "'"); ok {
			var b strings.Builder
			for {
				part, more, ok := strings.Cut(after, "'")
				if !ok {
					return s, damaged
				}
				b.WriteString(part)
				if after = more; !strings.HasPrefix(after, "'") {
					break
				}
				b.WriteByte('\'')
				after = after[1:]
			}
			s.Params, rest = append(s.Params, b.String()), after
			continue
		}
		end := strings.IndexAny(rest, ",)")
		if end <= 0 {
			return s, damaged
		}
		if n, err := strconv.ParseInt(rest[:end], 10, 64); err == nil {
			s.Params = append(s.Params, n)
		} else if f, err := strconv.ParseFloat(rest[:end], 64); err == nil {
			s.Params = append(s.Params, f)
		} else {
			return s, damaged
		}
		rest = rest[end:]
	}
	return s, nil
}
