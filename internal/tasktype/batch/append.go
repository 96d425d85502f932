package batch

import (
	"context"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/msq"
)

// existing returns the time chunks of a datasource that an append of a granularity goes into: those
// that queries see, and those that other appends that run have begun.
func (k *Index) existing(ctx context.Context, dataSource string, g chrono.Granularity) ([]msq.Existing, error) {
	pending, err := k.o.Metastore.PendingSegments(ctx, dataSource)
	if err != nil {
		return nil, err
	}
	promised := make([]chrono.Interval, len(pending))
	for i, p := range pending {
		promised[i] = p.ID.Interval
	}
	var visible []msq.VisibleChunk
	for _, h := range k.o.Published.Pin().Timeline(dataSource).Lookup(chrono.Eternity) {
		visible = append(visible, msq.VisibleChunk{Visible: h.Interval, Chunk: h.Chunk.Interval})
	}
	return msq.ExistingChunks(g, visible, promised), nil
}
