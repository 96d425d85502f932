package endpoints

import (
	"fmt"
	"strings"
)

//go:generate go run ./gendoc ../../..

// The marks between which the table of permissions is.
const (
	beginTable = "<!-- permissions: generated from internal/api/endpoints by go generate; do not edit -->\n"
	endTable   = "<!-- /permissions -->\n"
)

// Document returns a page of the documentation with the table of permissions between its marks, or
// at its end if it has none.
func Document(page string) string {
	before, rest, found := strings.Cut(page, beginTable)
	_, after, ended := strings.Cut(rest, endTable)
	if !found || !ended {
		if page == "" {
			page = "# Security\n"
		}
		before, after = page+"\n## Permissions of endpoints\n"+
			"Once security is configured, every endpoint needs what this table says. An action that is not named goes by the method: "+
			"GET and HEAD are READ, all others WRITE.\n\n", ""
	}
	return before + beginTable + table() + endTable + after
}

// table returns the table of permissions, by family.
func table() string {
	var b strings.Builder
	b.WriteString("| Endpoint | Permission |\n|---|---|\n")
	for _, f := range families() {
		fmt.Fprintf(&b, "| **%s** | |\n", f)
		for _, e := range Table {
			if e.Family != f || withSlash(e.Pattern) {
				continue
			}
			method, _, found := strings.Cut(e.Pattern, " ")
			if !found {
				method = ""
			}
			fmt.Fprintf(&b, "| `%s` | %s |\n", e.Pattern, e.Permission.Text(method))
		}
	}
	return b.String()
}
