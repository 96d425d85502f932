package stream

import "encoding/json"

// Config says which stream is read, and how: the members of an ioConfig that concern the stream.
type Config struct {
	// Type is kafka, kinesis or push.
	Type string
	// Name is the topic or stream; Pattern, if not "", is matched against whole names of topics
	// instead.
	Name, Pattern string
	// Properties are the consumerProperties of Kafka as they were given; providers among them are
	// resolved when the source is opened.
	Properties map[string]json.RawMessage
	// IO is the whole ioConfig, for members of one type of stream only (endpoint, awsAssumedRoleArn).
	IO json.RawMessage
	// Committed says to read only records of committed transactions.
	Committed bool
}
