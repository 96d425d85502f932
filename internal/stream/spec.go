package stream

import "encoding/json"

// Config identifies and configures a stream: the members of an ioConfig that concern the stream.
type Config struct {
	// Type is kafka, kinesis or push.
	Type string
	// Name is the topic or stream; Pattern, if not "", is matched against whole names of topics
	// instead.
	Name, Pattern string
	// Properties are the unresolved consumerProperties of Kafka; providers in them are resolved when
	// the source is opened.
	Properties map[string]json.RawMessage
	// IO is the whole ioConfig, for members that only one type of stream has (endpoint,
	// awsAssumedRoleArn).
	IO json.RawMessage
	// Committed: read only records of committed transactions.
	Committed bool
}
