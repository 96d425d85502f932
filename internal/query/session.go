package query

import (
	"context"
	"encoding/json"

	"github.com/hengedb/henge/internal/chrono"
	lang "github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
)

// Session answers from one state of the timeline. It is used by one goroutine and needs no closing.
type Session interface {
	lang.Catalog
	// Whole tells whether the user sees all rows and columns of a datasource as they are.
	Whole(ctx context.Context, dataSource string) (bool, error)
	// DataSources lists the datasources by name.
	DataSources() []string
	// Run begins a plan. The rows end when ctx is done.
	Run(ctx context.Context, node plan.Node, id string) (Rows, error)
	// Segments calls f for the visible segments of a datasource in the intervals, which are sorted,
	// and stops at its first error. The segment may be used during the call only.
	Segments(ctx context.Context, dataSource string, intervals []chrono.Interval, f func(Segment) error) error
	// List returns the same segments without opening any.
	List(dataSource string, intervals []chrono.Interval) []Listed
	// Spread divides segments among the servers that hold them and calls ask for the share of each,
	// several at a time. at is nil for this process, and files are then those of it. When a server
	// fails ask is called for others with its share.
	Spread(ctx context.Context, segments []Listed, ask func(ctx context.Context, at Server, files Files, part []Listed) error) error
}

// Segment is a visible segment.
type Segment struct {
	ID string
	// Interval is its time chunk, Visible the part of it that counts.
	Interval, Visible chrono.Interval
	// Size is its bytes on disk.
	Size int64
	Info *segment.Info
}

// Listed names a visible segment to the server that is to describe it.
type Listed struct {
	// At is its place among those of the query.
	At                int    `json:"at"`
	ID                string `json:"id"`
	Interval, Visible chrono.Interval
	Size              int64 `json:"size"`
	// LoadSpec says where its file is.
	LoadSpec json.RawMessage `json:"loadSpec"`
	// Live says that it is a live segment, of which those rows count that a query may see which has
	// pinned the number of the change stream.
	Live   bool  `json:"live,omitempty"`
	Pinned int64 `json:"pinned,omitempty"`
}

// Server is one that describes segments.
type Server interface {
	// Call sends it a JSON body and decodes the answer.
	Call(ctx context.Context, path string, body, out any) error
}

// Files makes segments readable (fragments.Segments).
type Files interface {
	Acquire(ctx context.Context, id string, loadSpec json.RawMessage) (segment.Reader, error)
}

// LiveFiles are Files that make live segments readable, too (fragments.Live).
type LiveFiles interface {
	Files
	AcquireLive(ctx context.Context, id string, pinned int64) ([]segment.Reader, error)
}
