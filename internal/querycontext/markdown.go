package querycontext

import (
	"fmt"
	"slices"
	"strings"
)

// readerNames are the names of readers in the documentation, in the order of their bits.
var readerNames = []string{"SQL", "native", "statements", "tasks", "EXPLAIN", "Router", "server"}

// Markdown returns the documentation of all parameters.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# Query context
Generated from ` + "`internal/querycontext`" + ` by ` + "`go generate ./...`" + `; do not edit.

The context is the JSON object ` + "`context`" + ` of a query or a task. In SQL, ` + "`SET name = value;`" + ` in front of a statement sets a parameter too, and wins.
` + "`service.query.default.context.<name>`" + ` sets a default for the whole process; null in a context removes it.

- *true/false* may also be text; text other than ` + "`true`" + ` counts as false.
- *integer* is a whole number of 32 bits, *long* of 64 bits. The fraction of a JSON number is cut off. A JSON number outside the range counts as the
  nearest number in the range. Text must hold a whole number in the range; other text is refused.
- *list of names* is an array, the JSON text of an array, or text with commas.
- Names of choices are read in any case.
- Where a parameter is read, a value of another type is refused with the name of the parameter. Unknown parameters are ignored.

"Read by": *SQL* and *native* are queries that are answered at once, *statements* are SQL statements that run as tasks, *tasks* are native batch,
compaction and kill tasks, *EXPLAIN* is ` + "`EXPLAIN PLAN FOR`" + `, the *Router* chooses a Broker, and what the *server* sets
is shown in tasks and reports.

`)
	effective := func(e *entry) bool { return e.readers&^(CheckedBySQL|CheckedByNative) != 0 }
	table(&b, effective)
	b.WriteString("\n## Without effect\nThese parameters are accepted, so that clients of Apache Druid can set them, and change nothing.\n\n")
	table(&b, func(e *entry) bool { return !effective(e) })
	return b.String()
}

func table(b *strings.Builder, wanted func(*entry) bool) {
	b.WriteString("| Parameter | Type | Default | Read by | Meaning |\n|---|---|---|---|---|\n")
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, func(x, y *entry) int { return strings.Compare(strings.ToLower(x.key), strings.ToLower(y.key)) })
	for _, e := range sorted {
		if !wanted(e) {
			continue
		}
		shown := ""
		if e.shown != "" {
			shown = "`" + e.shown + "`"
		}
		var readers []string
		for bit, name := range readerNames {
			if e.readers&(1<<bit) != 0 {
				readers = append(readers, name)
			}
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", e.key, e.kind, shown, strings.Join(readers, ", "), e.doc)
	}
}
