package broker

import (
	"context"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/query"
)

// Own runs native queries over the segments of this process, as a Historical and a worker do on
// their ports. It is an engine of package api/nativequery.
type Own struct {
	Broker *Broker
	// Held returns the ids of the published segments in this process; nil: published segments are not
	// read.
	Held func() []string
	// Live is true if the live segments of the process are read.
	Live bool
}

// own is what a query of Own reads: published segments by their ids.
type own struct{ held map[string]bool }

// Pin implements nativequery.Engine.
func (o Own) Pin(ctx context.Context, q *query.Query, access *auth.Access, settings map[string]any) (query.Session, error) {
	s, err := o.Broker.session(ctx, q, access, settings)
	if err != nil {
		return nil, err
	}
	s.reading.own = &own{held: map[string]bool{}}
	s.reading.published, s.reading.live = s.reading.published && o.Held != nil, s.reading.live && o.Live
	if s.reading.published {
		for _, id := range o.Held() {
			s.reading.own.held[id] = true
		}
	}
	return s, nil
}

// isHere reports whether this process has a live segment.
func (t *tables) isHere(s *cluster.LiveSegment) bool {
	if t.alone {
		return true
	}
	for _, h := range s.Holders {
		if h.Server.Here {
			return true
		}
	}
	return false
}
