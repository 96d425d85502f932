package sql

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// applySets puts the SET statements in front of a statement into the context, for what is needed
// before the statement is planned: its id, its time limit, how it is to be run. The request keeps
// the parsed text for the binder. A text that does not parse, and values that are not plain
// literals, are left to the binder, which says what is wrong.
func applySets(req *query.Request) {
	if !strings.Contains(strings.TrimRight(req.SQL, "; \t\r\n"), ";") {
		return
	}
	script, err := syntax.Parse(req.SQL)
	if err != nil {
		return
	}
	req.Script = script
	sets := map[string]any{}
	for _, set := range script.Sets {
		switch v := set.Value.(type) {
		case *syntax.String:
			sets[set.Name.Name] = v.Value
		case *syntax.Bool:
			sets[set.Name.Name] = v.Value
		case *syntax.Number:
			sets[set.Name.Name] = json.Number(v.Text)
		case *syntax.Null:
			sets[set.Name.Name] = nil
		}
	}
	maps.Copy(req.Context, sets)
}
