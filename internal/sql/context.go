package sql

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
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
	// maxSubqueryRows is the most rows that a join may keep of its right side, 0 when the context sets none.
	maxSubqueryRows int64
	// maxSubqueryBytes is the same in bytes.
	maxSubqueryBytes int64
	// finalizeAggregations is false when an INSERT keeps aggregates in their intermediate form.
	finalizeAggregations bool
	finalizeSketches     bool
	// skipEmptyBuckets is false when groups by time show buckets without rows.
	skipEmptyBuckets bool
	// oneValue says that a row is in one group: it must not have several values of a multi-value string that groups are made by.
	oneValue bool
}

// The context parameters that the server sets itself.
var reservedKeys = []string{"sqlInsertSegmentGranularity", "sqlReplaceTimeChunks", "__resultFormat", "__user", "timestampResultField",
	"timestampResultFieldGranularity", "timestampResultFieldInOriginalDimensions"}

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
	c := contextReader{values: merged}
	c.check()
	s.approximateDistinct = c.boolean("useApproximateCountDistinct", true)
	s.finalizeAggregations = c.boolean("finalizeAggregations", true)
	s.finalizeSketches = c.boolean("sqlFinalizeOuterSketches", false)
	s.skipEmptyBuckets = c.values["skipEmptyBuckets"] != false && c.values["skipEmptyBuckets"] != "false"
	s.oneValue = !c.boolean("groupByEnableMultiValueUnnesting", true)
	s.outerLimit = c.long("sqlOuterLimit", -1)
	s.maxSubqueryRows = max(c.long("maxSubqueryRows", 0), 0)
	if !namesLimit(merged["maxSubqueryBytes"]) {
		s.maxSubqueryBytes = max(c.long("maxSubqueryBytes", 0), 0)
	}
	switch name := merged["sqlTimeZone"].(type) {
	case nil:
	case string:
		s.zone = chrono.InferZone(name)
	default: // its text names no zone
		s.zone = chrono.UTC
	}
	if s.zone == nil {
		s.zone = chrono.UTC
	}
	if text := c.text("sqlCurrentTimestamp"); text != "" && c.err == nil {
		ms, ok := chrono.ParseISO(text)
		if !ok {
			return settings{}, fault.BadContext("Expected key [sqlCurrentTimestamp] to be an ISO 8601 instant, but got [%s]", text)
		}
		s.now = ms
	}
	return s, c.err
}

// knownKeys are the kinds of the parameters that are read elsewhere. A value of the wrong kind is an error before anything runs.
var knownKeys = []struct {
	kind string // a Boolean, a String, an Integer, a Long, a Float
	keys []string
}{
	{"a Boolean", []string{"useApproximateTopN", "sqlStringifyArrays", "useGroupingSetForExactDistinct", "useLexicographicTopN",
		"enableTimeBoundaryPlanning", "useNativeQueryExplain", "enableUnnest", "windowsAreForClosers", "finalize", "grandTotal",
		"secondaryPartitionPruning", "forceLimitPushDown", "applyLimitPushDownToSegment", "groupByIsSingleThreaded", "forceHashAggregation",
		"forcePushDownNestedQuery", "mergeThreadLocal", "sortByDimsFirst", "enableJoinFilterPushDown", "enableJoinFilterRewrite",
		"enableJoinFilterRewriteValueColumnFilters", "enableRewriteJoinToFilter", "enableJoinLeftTableScanDirect",
		"computeInnerJoinCostAsFilter", "forceExpressionVirtualColumns", "useNestedForUnknownTypeInSubquery", "useFilterCNF",
		"setProcessingThreadNames"}},
	{"a String", []string{"lane", "plannerStrategy", "sqlJoinAlgorithm", "groupByStrategy", "postProcessing"}},
	{"an Integer", []string{"priority", "maxSubqueryRows", "inSubQueryThreshold", "inFunctionThreshold", "maxNumericInFilters", "vectorSize",
		"uncoveredIntervalsLimit", "numRetriesOnMissingSegments", "maxResults", "maxIntermediateRows",
		"bufferGrouperInitialBuckets", "numParallelCombineThreads", "intermediateCombineDegree"}},
	{"a Long", []string{"timeout", "maxScatterGatherBytes", "maxQueuedBytes", "joinFilterRewriteMaxSize"}},
	{"a Float", []string{"bufferGrouperMaxLoadFactor"}},
}

// check reads the known keys.
func (c *contextReader) check() {
	for _, group := range knownKeys {
		for _, key := range group.keys {
			switch group.kind {
			case "a Boolean":
				c.boolean(key, false)
			case "a String":
				c.text(key)
			case "an Integer":
				c.number(key, "an Integer", "integer", 0)
			case "a Float":
				c.float(key)
			default:
				c.long(key, 0)
			}
		}
	}
	if v, ok := c.values["sqlJoinAlgorithm"].(string); ok && !strings.EqualFold(v, "broadcast") && !strings.EqualFold(v, "sortMerge") {
		c.fail("Expected key [sqlJoinAlgorithm] to be one of [broadcast, sortMerge], but got [%s]", v)
	}
	// Beside that, the reference wants the limit to be at most the server's, and has no use for it where the server has none, as ours.
	if c.number("maxNumericInFilters", "an Integer", "integer", -1) == 0 {
		c.fail("Expected key [maxNumericInFilters] to be greater than 0, but got [0]")
	}
	switch v := c.values["vectorize"].(type) {
	case nil, bool:
	case string:
		if !strings.EqualFold(v, "true") && !strings.EqualFold(v, "false") && !strings.EqualFold(v, "force") {
			c.fail("Expected key [vectorize] to be referring to one of the values [FALSE,TRUE,FORCE] of enum [Vectorize], but got [%s]", v)
		}
	default:
		c.boolean("vectorize", true)
	}
}

// namesLimit reports whether a maxSubqueryBytes is one of the words that leave it to the server.
func namesLimit(v any) bool { return v == "auto" || v == "disabled" || v == "unlimited" }

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

// contextReader reads typed values; it keeps the first error.
type contextReader struct {
	values map[string]any
	err    error
}

func (c *contextReader) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fault.BadContext(format, args...)
	}
}

func (c *contextReader) boolean(key string, otherwise bool) bool {
	switch v := c.values[key].(type) {
	case nil:
		return otherwise
	case bool:
		return v
	case string:
		return strings.EqualFold(v, "true")
	default:
		c.fail("Expected key [%s] to be a Boolean, but got [%s]", key, fault.JSONClass(v))
		return otherwise
	}
}

func saturated(f float64) int64 {
	switch {
	case f >= 1<<63:
		return math.MaxInt64
	case f < -1<<63:
		return math.MinInt64
	}
	return int64(f)
}

func (c *contextReader) long(key string, otherwise int64) int64 {
	return c.number(key, "a Long", "long", otherwise)
}

// number reads a whole number; a fraction is cut off, and a number beyond those of 64 bits is the nearest of them.
func (c *contextReader) number(key, kind, format string, otherwise int64) int64 {
	text := ""
	switch v := c.values[key].(type) {
	case nil:
		return otherwise
	case int64:
		return v
	case int:
		return int64(v)
	case float64:
		return saturated(v)
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		if f, err := v.Float64(); err == nil {
			return saturated(f)
		}
		text = v.String()
	case string:
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return n
		}
		if f, err := strconv.ParseFloat(v, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<63 {
			return int64(f)
		}
		text = v
	default:
		c.fail("Expected key [%s] to be %s, but got [%s]", key, kind, fault.JSONClass(v))
		return otherwise
	}
	c.fail("Expected key [%s] to be in %s format, but got [%s]", key, format, text)
	return otherwise
}

// float checks that a value is a number.
func (c *contextReader) float(key string) {
	switch v := c.values[key].(type) {
	case nil, int64, int, float64, json.Number:
	case string:
		if _, err := strconv.ParseFloat(v, 64); err != nil {
			c.fail("Expected key [%s] to be in float format, but got [%s]", key, v)
		}
	default:
		c.fail("Expected key [%s] to be a Float, but got [%s]", key, fault.JSONClass(v))
	}
}

func (c *contextReader) text(key string) string {
	switch v := c.values[key].(type) {
	case nil:
	case string:
		return v
	default:
		c.fail("Expected key [%s] to be a String, but got [%s]", key, fault.JSONClass(v))
	}
	return ""
}
