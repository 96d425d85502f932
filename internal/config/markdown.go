package config

import (
	"fmt"
	"strings"
)

// Markdown returns the documentation of all properties.
func Markdown() string {
	var b strings.Builder
	b.WriteString("# Configuration\n")
	b.WriteString("Generated from `internal/config/properties.go` by `go generate ./...`; do not edit.\n\n")
	b.WriteString("Properties come, later ones winning, from files (`--config`), from the environment (`service_broker_plaintextPort` sets\n")
	b.WriteString("`service.broker.plaintextPort`) and from `--set key=value`. Names may begin with an alias of `service.api.aliases` instead of `service`. Unknown names are refused, with the\n")
	b.WriteString("nearest known one. Bytes take units (`512MiB`, `2GB`, `30%` of the machine's memory), durations are ISO 8601 (`PT5M`), lists are JSON or separated by commas.\n\n")
	b.WriteString("| Property | Type | Default | Meaning |\n|---|---|---|---|\n")
	for _, p := range Properties {
		fallback := "`" + p.Default + "`"
		if p.Default == "" {
			fallback = ""
		}
		doc := p.Doc
		if p.Secret {
			doc += " Secret: never shown."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", p.Key, p.Kind, strings.ReplaceAll(fallback, "|", `\|`), strings.ReplaceAll(doc, "|", `\|`))
	}
	return b.String()
}
