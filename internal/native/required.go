package native

import (
	"encoding/json"
	"strings"
)

// required names, for each kind of part and each of its types, the members without which it makes
// no sense. Type * stands for all other types of a kind. Of members with a bar between them there
// must be one.
var required = map[string]map[string][]string{
	"Filter": {
		"selector":             {"dimension"},
		"extraction":           {"dimension"},
		"equals":               {"column", "matchValueType", "matchValue"},
		"null":                 {"column"},
		"in":                   {"dimension", "values"},
		"inType":               {"column", "matchValueType", "values|sortedValues"},
		"arrayContainsElement": {"column", "elementMatchValueType"},
		"bound":                {"dimension"},
		"range":                {"column", "matchValueType"},
		"like":                 {"dimension", "pattern"},
		"regex":                {"dimension", "pattern"},
		"search":               {"dimension", "query"},
		"interval":             {"dimension", "intervals"},
		"columnComparison":     {"dimensions"},
		"expression":           {"expression"},
		"not":                  {"field"},
	},
	"Datasource": {
		"table":       {"name"},
		"globalTable": {"name"},
		"inline":      {"columnNames", "rows"},
		"query":       {"query"},
		"join":        {"joinType"},
	},
	"Having": {
		"dimSelector": {"dimension"},
	},
	"Aggregator": aggregatorMembers(),
	"Post-aggregator": {
		"expression":                {"expression"},
		"stddev":                    {"name", "fieldName"},
		"zscore2sample":             {"name", "successCount1", "sample1Size", "successCount2", "sample2Size"},
		"pvalue2tailedZtest":        {"name", "zScore"},
		"quantile":                  {"probability"},
		"quantileFromTDigestSketch": {"fraction"},
	},
	"Dimension": {
		"default":        {"dimension"},
		"extraction":     {"dimension", "extractionFn"},
		"listFiltered":   {"delegate", "values"},
		"regexFiltered":  {"delegate", "pattern"},
		"prefixFiltered": {"delegate", "prefix"},
	},
	"Extraction function": {
		"regex":        {"expr"},
		"partial":      {"expr"},
		"searchQuery":  {"query"},
		"time":         {"timeFormat", "resultFormat"},
		"cascade":      {"extractionFns"},
		"stringFormat": {"format"},
	},
	"Search query": {
		"regex": {"pattern"},
	},
	"Virtual column": {
		"expression":   {"name", "expression"},
		"nested-field": {"columnName", "outputName", "path|pathParts"},
		"mv-filtered":  {"name", "delegate", "values"},
	},
}

// aggregatorMembers are the members that aggregators need: most have a field, which may be one that
// no row has.
func aggregatorMembers() map[string][]string {
	out := map[string][]string{
		"filtered":   {"filter", "aggregator"},
		"grouping":   {"name", "groupings"},
		"expression": {"name", "fields", "initialValue", "fold"},
		"*":          {"name"},
	}
	for name, d := range simpleAggregators {
		switch {
		case d.summed():
			out[name] = []string{"name", "fieldName|expression"}
		case !d.function().Counts:
			out[name] = []string{"name", "fieldName"}
		}
	}
	for name, d := range sketchAggregators {
		if !d.combines && name != "hyperUnique" {
			out[name] = []string{"name", "fieldName"}
		}
	}
	return out
}

// checkRequired refuses a part of a kind that lacks a member its type needs.
func checkRequired(kind, name string, members map[string]json.RawMessage) error {
	types := required[kind]
	list, ok := types[name]
	if !ok {
		list = types["*"]
	}
	for _, member := range list {
		ways, given := strings.Split(member, "|"), 0
		for _, way := range ways {
			if !isNull(members[way]) {
				given++
			}
		}
		switch {
		case given == 0:
			return invalid("%s of type [%s] needs [%s]", kind, name, strings.Join(ways, "] or ["))
		case given > 1:
			return invalid("%s of type [%s] can't have [%s]", kind, name, strings.Join(ways, "] and ["))
		}
	}
	return nil
}
