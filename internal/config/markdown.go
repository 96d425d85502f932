package config

import (
	"fmt"
	"slices"
	"strings"
)

// sections divide the list of properties: each begins with a property and goes on to the next.
var sections = []struct{ title, first, about string }{
	{"Names and listeners", "service.api.aliases", ""},
	{"TLS", "service.enableTlsPort", "[tls.md](tls.md) has examples."},
	{"Discovery and leaders", "service.discovery.leaseDuration", ""},
	{"Metastore", "service.data.dir", ""},
	{"Deep storage", "service.storage.type", ""},
	{"Segment cache", "service.segmentCache.directory", ""},
	{"Memory, threads and disk", "service.memory.limit", ""},
	{"Queries and requests", "service.query.maxMemoryWait", ""},
	{"Clients", "service.ingest.push.maxBytes", "[clients.md](clients.md), [postgres.md](postgres.md)."},
	{"Lanes, limits and priorities", "service.query.scheduler.numThreads", "[operations.md](operations.md#limit-queries) explains them."},
	{"Brokers", "service.broker.select.tier", ""},
	{"Caches", "service.broker.cache.useResultLevelCache", "[operations.md](operations.md#caches) explains them."},
	{"Routers", "service.router.http.readTimeout", ""},
	{"Tasks and files", "service.indexer.queue.maxSize", ""},
	{"Lookups", "service.lookup.lookupTier", "[lookups.md](lookups.md) explains them."},
	{"Coordinator", "service.coordinator.asOverlord.enabled", "[coordinator.md](coordinator.md) has the settings that change while it runs."},
	{"Supervisors", "service.supervisor.unhealthinessThreshold", "[supervisors.md](supervisors.md) explains them."},
	{"Security", "service.auth.authenticatorChain", "[security.md](security.md) has examples."},
	{"Audit", "service.audit.manager.type", ""},
	{"Metrics", "service.emitter", "[monitoring.md](monitoring.md) explains them."},
	{"Logs and traces", "service.log.level", ""},
}

// needed are the settings that a first installation changes.
var needed = []struct{ key, use string }{
	{"service.data.dir", "where the process keeps its data"},
	{"service.host", "the name by which other machines reach the process; without it, only this machine does"},
	{"service.memory.limit", "how much memory the process uses"},
	{"service.metadata.storage.type", "`postgresql` for a cluster"},
	{"service.metadata.storage.connector.connectURI", "the address of PostgreSQL, with `user` and `password` beside it"},
	{"service.storage.type", "`s3` for a cluster, with `service.storage.bucket`; or a shared directory in `service.storage.storageDirectory`"},
	{"service.server.maxSize", "how much disk a Historical uses for segments"},
	{"service.worker.capacity", "how many tasks a worker runs at once"},
	{"service.query.scheduler.numThreads", "how many queries a Broker runs at once"},
	{"service.auth.authenticatorChain", "who may log in"},
}

// Markdown returns the documentation of all properties.
func Markdown() string {
	var b strings.Builder
	b.WriteString("# Configuration\n" +
		"All settings of `henge server`, by topic. `go generate ./...` writes this page from `internal/config/properties.go`.\n\n" +
		"Settings come from files (`--config`), from the environment (`service_broker_plaintextPort` sets `service.broker.plaintextPort`)\n" +
		"and from `--set key=value`. A later source overrides an earlier one. Names may begin with an alias of `service.api.aliases` instead\n" +
		"of `service`. Unknown names are rejected, and the error names the nearest known setting. Bytes take units (`512MiB`, `2GB`, `30%`\n" +
		"of the machine's memory), durations are ISO 8601 (`PT5M`), lists are JSON or separated by commas. `henge check-config` verifies\n" +
		"settings without starting a server.\n\n" +
		"## The ten settings you will need\n| Property | Default | For |\n|---|---|---|\n")
	for _, n := range needed {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", n.key, shownDefault(*property(n.key)), n.use)
	}
	list := Properties
	for i, s := range sections {
		end := len(list)
		if i+1 < len(sections) {
			end = slices.IndexFunc(list, func(p Property) bool { return p.Key == sections[i+1].first })
		}
		b.WriteString("\n## " + s.title + "\n")
		if s.about != "" {
			b.WriteString(s.about + "\n\n")
		}
		table(&b, list[:end])
		list = list[end:]
	}
	b.WriteString("\n## Accepted but ignored\n" +
		"These settings of Apache Druid are accepted, so that its files work unchanged, and have no effect, for the reason given. A process\n" +
		"logs at its start which of them are set. Settings of authentication and TLS are never ignored: unsupported ones are rejected.\n\n")
	table(&b, Accepted)
	return b.String()
}

// property returns the property with a key.
func property(key string) *Property {
	return &Properties[slices.IndexFunc(Properties, func(p Property) bool { return p.Key == key })]
}

func shownDefault(p Property) string {
	if p.Default == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(p.Default, "|", `\|`) + "`"
}

func table(b *strings.Builder, list []Property) {
	b.WriteString("| Property | Type | Default | Meaning |\n|---|---|---|---|\n")
	for _, p := range list {
		doc := p.Doc
		if p.Secret {
			doc += " Secret: never shown."
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", p.Key, p.Kind, shownDefault(p), strings.ReplaceAll(doc, "|", `\|`))
	}
}
