// Package docs embeds the pages of this folder in the binary, for agents and for the console.
//
// The pages are embedded uncompressed. A compressed copy would be 400 KB smaller, but out of date
// as soon as somebody edits a page and does not compress it again.
package docs

import (
	"embed"
	"strings"
	"sync"
)

//go:embed *.md
var files embed.FS

// Page is a page of the documentation.
type Page struct {
	// Name is the name of its file.
	Name, Title, Text string
}

// Pages returns all pages, in the order of their names. The caller must not change them.
var Pages = sync.OnceValue(func() []Page {
	entries, _ := files.ReadDir(".") // which is there
	out := make([]Page, 0, len(entries))
	for _, e := range entries {
		text, _ := files.ReadFile(e.Name()) // likewise
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		out = append(out, Page{e.Name(), title, string(text)})
	}
	return out
})

// Index returns an index of the pages in the form of llms.txt, with links below base.
func Index(base string) string {
	var b strings.Builder
	b.WriteString("# Henge\n\n> A real-time analytics store: events in, SQL answers out, over HTTP. It speaks the public interface of " +
		"Apache Druid.\n\n" +
		"## Documentation\n\n")
	for _, p := range Pages() {
		_, rest, _ := strings.Cut(p.Text, "\n")
		about, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
		if at := strings.Index(about, ". "); at > 0 {
			about = about[:at+1]
		}
		if about == "" || strings.ContainsAny(about[:1], "#<|`") || strings.HasPrefix(about, "Generated ") {
			about = p.Title + "."
		}
		b.WriteString("- [" + p.Title + "](" + base + p.Name + "): " + about + "\n")
	}
	return b.String()
}
