// Package functiondoc writes docs/functions.md, the reference of all functions, from the catalogs
// of packages expr and agg. A test compares the file with what the code says, so that the two can't
// drift apart.
package functiondoc

//go:generate go run ./gen ../../../docs/functions.md

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/sql/infoschema"
)

// Markdown returns the reference.
func Markdown() string {
	var b strings.Builder
	b.WriteString("# Functions\n")
	b.WriteString("Generated from the catalogs of functions by `go generate ./...`; do not edit. Names are case-insensitive. `SELECT * FROM INFORMATION_SCHEMA.ROUTINES` lists the same.\n\n")
	b.WriteString("## Scalar functions and operators\n| Function | Forms | What it does |\n|---|---|---|\n")
	functions := slices.Clone(expr.Functions())
	slices.SortFunc(functions, func(x, y *expr.Function) int { return strings.Compare(x.Name, y.Name) })
	for _, f := range functions {
		row(&b, f.Name, f.Signatures(), f.Summary)
	}
	b.WriteString("\n## Aggregates\nAll take `FILTER (WHERE ..)` and, where it means something, `DISTINCT`; all may be window functions.\n\n")
	b.WriteString("| Function | Form | What it does |\n|---|---|---|\n")
	aggregates := slices.Clone(agg.Functions())
	slices.SortFunc(aggregates, func(x, y *agg.Function) int { return strings.Compare(x.Name, y.Name) })
	for _, f := range aggregates {
		if f.Internal {
			continue
		}
		doc := f.Doc
		if len(f.Aliases) > 0 {
			doc += " Also called " + strings.Join(f.Aliases, ", ") + "."
		}
		row(&b, f.Name, strings.Split(f.Signature, "\n"), doc)
	}
	b.WriteString("\n## Window functions\nThese need `OVER`.\n\n| Function | Forms | What it does |\n|---|---|---|\n")
	written(&b, infoschema.Windows)
	b.WriteString("\n## Forms\nWhat is written like a function.\n\n| Name | Form | What it gives |\n|---|---|---|\n")
	written(&b, infoschema.Forms)
	return b.String()
}

// written adds rows for what is in no catalog of functions.
func written(b *strings.Builder, forms []infoschema.Form) {
	for _, f := range forms {
		row(b, f.Name, strings.Split(cmp.Or(f.Syntax, f.Signatures), "\n"), f.Summary)
	}
}

func row(b *strings.Builder, name string, forms []string, doc string) {
	escape := strings.NewReplacer("|", `\|`, "\n", " ")
	for i := range forms {
		forms[i] = "`" + escape.Replace(strings.Trim(forms[i], "'")) + "`"
	}
	fmt.Fprintf(b, "| `%s` | %s | %s |\n", escape.Replace(name), strings.Join(forms, "<br>"), escape.Replace(doc))
}
