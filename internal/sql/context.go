package sql

import (
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// settings are the context parameters that planning obeys.
type settings struct {
	merged map[string]any
	zone   *chrono.Zone
	now    int64
	// approximateDistinct makes COUNT(DISTINCT x) a sketch.
	approximateDistinct bool
	// outerLimit is sqlOuterLimit, -1 when there is none.
	outerLimit int64
	// maxSubqueryRows is the most rows that a join may keep of its right side, 0 when the context sets
	// none.
	maxSubqueryRows int64
	// maxSubqueryBytes is the same in bytes.
	maxSubqueryBytes int64
	// finalizeAggregations is false when an INSERT keeps aggregates in their intermediate form.
	finalizeAggregations bool
	finalizeSketches     bool
	// skipEmptyBuckets is false when groups by time show buckets without rows.
	skipEmptyBuckets bool
	// keyOrder says that groups which ORDER BY does not tell apart come in the order of their keys,
	// which clients of the interactive engine rely on.
	keyOrder bool
	// oneValue says that a row is in one group: it must not have several values of a multi-value
	// string that groups are made by.
	oneValue bool
}

// reservedKeys are the context parameters that the server sets itself.
var reservedKeys = querycontext.Keys(
	querycontext.InsertGrain, querycontext.ReplacedChunks, querycontext.ResultFormat, querycontext.User,
	querycontext.TimeResult, querycontext.ResultGrain, querycontext.ResultIndex,
)

// readSettings applies the SETs to the request's context and reads what planning needs of it.
func readSettings(r *Request, sets []*syntax.Set) (settings, error) {
	merged := make(map[string]any, len(r.Context)+len(sets))
	for k, v := range r.Context {
		if v != nil {
			merged[k] = v
		}
	}
	for _, set := range sets {
		v, err := setValue(set)
		if err != nil {
			return settings{}, err
		}
		if v == nil {
			delete(merged, set.Name.Name)
		} else {
			merged[set.Name.Name] = v
		}
	}
	for _, key := range reservedKeys {
		_, given := r.Context[key] // also as null
		if _, ok := merged[key]; ok || given {
			return settings{}, fault.InvalidInput("Query context parameter [%s] is not allowed", key).WithLegacy(fault.LegacyValidation)
		}
	}
	s := settings{merged: merged, zone: r.Zone, now: r.Now, outerLimit: -1}
	c := &querycontext.Reader{Values: merged}
	checkKnown(c)
	s.approximateDistinct = querycontext.ApproximateDistinct.From(c)
	s.finalizeAggregations = querycontext.FinalizeAggregations.From(c)
	s.finalizeSketches = querycontext.FinalizeSketches.From(c)
	s.skipEmptyBuckets = r.Engine != Native || !isFalse(querycontext.SkipEmptyBuckets.In(merged))
	s.keyOrder = r.Engine == Native
	s.oneValue = !querycontext.MultiValueGroup.From(c)
	s.outerLimit = querycontext.SQLOuterLimit.From(c)
	s.maxSubqueryRows = int64(max(querycontext.MaxSubqueryRows.From(c), 0))
	s.maxSubqueryBytes = max(querycontext.MaxSubqueryBytes.From(c), 0)
	if name := querycontext.SQLZone.From(c); name != "" {
		zone, err := chrono.LoadZone(name)
		if err != nil {
			c.Fail(fault.BadContext("Expected key [%s] to be a time zone: %s", querycontext.SQLZone.Key(), fault.Classify(err).Message))
		}
		s.zone = zone
	}
	if s.zone == nil {
		s.zone = chrono.UTC
	}
	if text := querycontext.SQLNow.From(c); text != "" && c.Err() == nil {
		ms, ok := chrono.ParseISO(text)
		if !ok {
			return settings{}, fault.BadContext("Expected key [sqlCurrentTimestamp] to be an ISO 8601 instant, but got [%s]", text)
		}
		s.now = ms
	}
	return s, c.Err()
}

// checkKnown refuses values of the wrong kind, also of parameters that are read elsewhere or not at
// all: a wrong value is an error before anything runs.
func checkKnown(c *querycontext.Reader) {
	if err := querycontext.Check(querycontext.CheckedBySQL, c.Values); err != nil {
		c.Fail(err)
	}
	// Druid also wants the limit to be at most the server's. Henge has no such limit.
	if querycontext.MaxNumericInFilters.From(c) == 0 {
		c.Fail(fault.BadContext("Expected key [maxNumericInFilters] to be greater than 0, but got [0]"))
	}
	switch v := querycontext.Vectorize.In(c.Values).(type) {
	case nil, bool:
	case string:
		if !strings.EqualFold(v, "true") && !strings.EqualFold(v, "false") && !strings.EqualFold(v, "force") {
			c.Fail(fault.BadContext("Expected key [vectorize] to be referring to one of the values [FALSE,TRUE,FORCE] of enum [Vectorize], but got [%s]", v))
		}
	default:
		c.Fail(fault.BadContext("Expected key [vectorize] to be a Boolean, but got [%s]", fault.JSONClass(v)))
	}
}

// isFalse reports whether a context says false. Other values, also those that can't be read, do
// not.
func isFalse(v any) bool { return v == false || v == "false" }

// setValue returns what SET gives a key, nil to remove it.
func setValue(set *syntax.Set) (any, error) {
	x := set.Value
	negative := false
	if u, ok := x.(*syntax.Unary); ok && u.Op == syntax.Neg {
		negative, x = true, u.X
	}
	switch v := x.(type) {
	case *syntax.String:
		return v.Value, nil
	case *syntax.Bool:
		return v.Value, nil
	case *syntax.Null:
		return nil, nil
	case *syntax.Number:
		text := v.Text
		if negative {
			text = "-" + text
		}
		if v.Kind == syntax.Integer {
			if n, err := strconv.ParseInt(text, 10, 64); err == nil {
				return n, nil
			}
		}
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fault.InvalidSQL(v.At, "Numeric literal '%s' out of range", v.Text)
		}
		return f, nil
	case *syntax.Temporal:
		var ms int64
		var err error
		if v.Kind == syntax.Date {
			ms, err = chrono.ParseDateLiteral(v.Text, chrono.UTC)
		} else {
			ms, err = chrono.ParseTimestampLiteral(v.Text, chrono.UTC)
		}
		if err != nil {
			return nil, fault.InvalidSQL(v.At, "Illegal %s literal '%s'", temporalName(v.Kind), v.Text)
		}
		return chrono.FormatMillis(ms, chrono.UTC), nil
	case *syntax.Array:
		out := make([]any, len(v.Items))
		for i, item := range v.Items {
			e, err := setValue(&syntax.Set{Pos: set.Pos, Name: set.Name, Value: item})
			if err != nil {
				return nil, err
			}
			out[i] = e
		}
		return out, nil
	}
	return nil, fault.InvalidSQL(set.At, "Assigned value must be a literal for SET statement[SET %s]", set.Name.Name)
}
