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
	table(&b, Properties)
	b.WriteString("\n## Taken, without effect\n")
	b.WriteString("What follows stands in files of the reference system. It is accepted, so that these can be used as they are, and changes nothing, for the reason that is given; a process says at\n")
	b.WriteString("its start which of them are set. Settings of authentication and TLS are not among them: where they have no effect they are refused.\n\n")
	table(&b, Accepted)
	return b.String()
}

func table(b *strings.Builder, list []Property) {
	b.WriteString("| Property | Type | Default | Meaning |\n|---|---|---|---|\n")
	for _, p := range list {
		fallback := "`" + p.Default + "`"
		if p.Default == "" {
			fallback = ""
		}
		doc := p.Doc
		if p.Secret {
			doc += " Secret: never shown."
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", p.Key, p.Kind, strings.ReplaceAll(fallback, "|", `\|`), strings.ReplaceAll(doc, "|", `\|`))
	}
}
