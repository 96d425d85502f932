package broker

import (
	"context"
	"slices"

	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/query"
)

// TakeLive receives the live rows of a datasource.
type TakeLive = func(name string, rows query.Rows) error

// ReadLive copies the rows of live segments for a task, which reads them more than once and in
// several processes. It calls take for each datasource that a plan of p scans, except one, with all
// rows and columns of its live segments, if it has any. If rows move meanwhile, p pins a newer
// state, and take is called again for all datasources. Afterwards p reads only published rows, in
// the state for which the live rows were copied.
func (b *Broker) ReadLive(ctx context.Context, p *Prepared, node plan.Node, but, id string, take TakeLive) error {
	if !p.reading.live {
		return nil
	}
	names, _ := scanned(node)
	names = slices.DeleteFunc(names, func(name string) bool { return name == but })
	for moves := 0; ; moves++ {
		err := b.readLive(ctx, p, names, id, take)
		if err == nil {
			break
		}
		next, moved := b.repin(ctx, pin{p.State, p.live}, err)
		if !moved || moves == maxMoves {
			return err
		}
		p.State, p.live = next.state, next.live
	}
	p.reading.live = false
	return nil
}

func (b *Broker) readLive(ctx context.Context, p *Prepared, names []string, id string, take TakeLive) error {
	for _, name := range names {
		s := &Session{broker: b, pin: pin{p.State, p.live}, lookups: p.Lookups, reading: reading{live: true}, fixed: true}
		scan := &plan.Scan{DataSource: name, Out: s.Columns(name), Limit: -1}
		if len(b.tablesOf(s.prepared()).growing(scan)) == 0 {
			continue
		}
		rows, err := s.Run(ctx, scan, id)
		if err != nil {
			return err
		}
		err = take(name, rows)
		rows.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
