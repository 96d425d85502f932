package query

import (
	"context"
	"encoding/json"

	"github.com/hengedb/henge/internal/chrono"
	lang "github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
)

// Session reads one state of the timeline. One goroutine uses it; it does not have to be closed.
type Session interface {
	lang.Catalog
	// Only restricts all later calls to the given segments of the named datasources.
	Only(segments map[string][]lang.Descriptor)
	// Whole reports whether the user sees all rows and columns of a datasource unchanged.
	Whole(ctx context.Context, dataSource string) (bool, error)
	// DataSources lists the datasources by name.
	DataSources() []string
	// Run starts a plan. The rows end when ctx is done.
	Run(ctx context.Context, node plan.Node, id string) (Rows, error)
	// Segments calls f for the visible segments of a datasource in the sorted intervals, and stops at
	// the first error. A segment is valid only during the call.
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
	// Interval is its time chunk, Visible the visible part of it.
	Interval, Visible chrono.Interval
	// Size is its size on disk in bytes.
	Size int64
	Info *segment.Info
}

// Listed identifies a visible segment in a request to the server that describes it.
type Listed struct {
	// At is its index among the segments of the query.
	At                int    `json:"at"`
	ID                string `json:"id"`
	Interval, Visible chrono.Interval
	Size              int64 `json:"size"`
	// LoadSpec is the location of its file.
	LoadSpec json.RawMessage `json:"loadSpec"`
	// Live is true for a live segment; its visible rows are those of a query that has pinned the
	// number of the change stream.
	Live   bool  `json:"live,omitempty"`
	Pinned int64 `json:"pinned,omitempty"`
}

// Server is a server that describes segments.
type Server interface {
	// Call sends it a JSON body and decodes the answer.
	Call(ctx context.Context, path string, body, out any) error
}

// Files makes segments readable (fragments.Segments).
type Files interface {
	Acquire(ctx context.Context, id string, loadSpec json.RawMessage) (segment.Reader, error)
}

// LiveFiles are Files that also make live segments readable (fragments.Live).
type LiveFiles interface {
	Files
	AcquireLive(ctx context.Context, id string, pinned int64) ([]segment.Reader, error)
}
