// Package connect opens streams of any type.
//
// The central type is Opener. Only this package lists the types of streams; package stream defines
// the interface of a stream.
package connect

import (
	"context"
	"log/slog"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/kafka"
	"github.com/hengedb/henge/internal/stream/kinesis"
)

// Opener opens streams.
type Opener struct {
	// Access defines the permitted addresses, files and variables.
	Access *ingest.Access
	Log    *slog.Logger
	// Push opens the log of rows that clients send to a datasource; nil: not available in this
	// process.
	Push func(dataSource string) (stream.Source, error)
}

// Open returns the source that config describes. It does not connect.
func (o *Opener) Open(ctx context.Context, config stream.Config) (stream.Source, error) {
	switch config.Type {
	case "kafka":
		return kafka.Open(config, o.Access, o.Log)
	case "kinesis":
		return kinesis.Open(ctx, config, o.Access, o.Log)
	case "push":
		if o.Push != nil {
			return o.Push(config.Name)
		}
	}
	return nil, fault.Unsupported("Streams of type [%s] can't be read here", config.Type)
}
