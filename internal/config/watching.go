package config

// watching are the settings of traces.
var watching = []Property{
	{Key: "service.tracing.otlp.endpoint", Kind: Text, Default: "",
		Doc: "Where spans are sent over OTLP/HTTP, such as `http://collector:4318`; `/v1/traces` is added where the address does not end " +
			"with it. Empty: no spans are recorded."},
	{Key: "service.tracing.otlp.headers", Kind: Text, Default: "", Secret: true,
		Doc: "Headers of these requests: `name=value` pairs with commas between them, values percent-encoded, as text or a password " +
			"provider."},
	{Key: "service.tracing.otlp.timeout", Kind: Duration, Default: "PT10S", Doc: "How long one of these requests may take."},
	{Key: "service.tracing.otlp.queueSize", Kind: Int, Default: "2048",
		Doc: "Maximum number of spans that wait to be sent. Further spans are dropped and counted in `henge_trace_spans_dropped_total`."},
	{Key: "service.tracing.serviceName", Kind: Text, Default: "henge",
		Doc: "Name of the service that spans say they are of (`service.name`)."},
	{Key: "service.tracing.sampleRatio", Kind: Text, Default: "1",
		Doc: "Share of the traces that begin in Henge which are recorded, from 0 to 1. For traces of callers their flag `sampled` decides."},
	{Key: "service.tracing.includeStatements", Kind: Bool, Default: "false",
		Doc: "Spans carry the text of SQL statements and the messages of failures. Both may have data in them."},
}
