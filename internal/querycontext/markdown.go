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

The context is the JSON object ` + "`context`" + ` of a query or a task. In SQL, ` + "`SET name = value;`" + ` before a statement also sets a parameter, and takes precedence.
` + "`service.query.default.context.<name>`" + ` sets a default for the whole process; null in a context removes this default.

- *true/false* can be a boolean or a string; strings other than ` + "`true`" + ` mean false.
- *integer* has 32 bits, *long* has 64 bits. The fraction of a JSON number is dropped, and a JSON number outside the range is replaced
  by the nearest number in the range. A string must contain an integer in the range, otherwise it is rejected.
- *list of names* is an array, a string with a JSON array, or a string with names separated by commas.
- Choices are not case-sensitive.
- A value of a wrong type is rejected by the readers of the parameter, and the error names the parameter. Unknown parameters are ignored.

The column "Read by" names what reads a parameter: *SQL* and *native* queries, *statements* (SQL statements that run as tasks), *tasks*
(native batch, compaction and kill tasks), *EXPLAIN* (` + "`EXPLAIN PLAN FOR`" + `), and the *Router* when it chooses a Broker.
Parameters of the *server* are set by Henge and appear in tasks and reports.

`)
	effective := func(e *entry) bool { return e.readers&^(CheckedBySQL|CheckedByNative) != 0 }
	table(&b, effective)
	b.WriteString("\n## Without effect\nThese parameters are accepted, so that clients of Apache Druid can set them, but have no effect.\n\n")
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
