package native

import "encoding/json"

// required names, for each kind of part and each of its types, the members without which it makes no sense. Type * stands for all other types of a kind.
var required = map[string]map[string][]string{
	"Filter": {
		"selector":         {"dimension"},
		"extraction":       {"dimension"},
		"equals":           {"column", "matchValueType", "matchValue"},
		"null":             {"column"},
		"in":               {"dimension", "values"},
		"bound":            {"dimension"},
		"range":            {"column", "matchValueType"},
		"like":             {"dimension", "pattern"},
		"regex":            {"dimension", "pattern"},
		"search":           {"dimension", "query"},
		"interval":         {"dimension", "intervals"},
		"columnComparison": {"dimensions"},
		"expression":       {"expression"},
		"not":              {"field"},
	},
	"Datasource": {
		"table":       {"name"},
		"globalTable": {"name"},
		"inline":      {"columnNames"},
		"query":       {"query"},
	},
	"Having": {
		"dimSelector": {"dimension"},
	},
	"Aggregator": {
		"filtered":   {"filter", "aggregator"},
		"expression": {"name", "fields", "initialValue", "fold"},
		"*":          {"name"},
	},
	"Post-aggregator": {
		"expression": {"expression"},
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
		"nested-field": {"columnName", "outputName"},
		"mv-filtered":  {"name", "delegate", "values"},
	},
}

// checkRequired refuses a part of a kind that lacks a member its type needs.
func checkRequired(kind, name string, members map[string]json.RawMessage) error {
	types := required[kind]
	list, ok := types[name]
	if !ok {
		list = types["*"]
	}
	for _, member := range list {
		if isNull(members[member]) {
			return invalid("%s of type [%s] needs [%s]", kind, name, member)
		}
	}
	return nil
}
