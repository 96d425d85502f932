package assign

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/timeline"
)

// clone is a server that is to hold exactly what another one holds (cloneServers). It is on no
// tier: rules and evening out pass it over.
type clone struct {
	*server
	source string // address
}

// mirror has clones load what their sources hold, and drop what they do not. A clone whose source
// is not there stays as it is: what it holds may be all that is left.
func (d *Duty) mirror(f *clusterState, state *timeline.State, out commands) {
	for _, c := range f.clones {
		source := f.by[c.source]
		if source == nil || source.Down || c.Down {
			continue
		}
		wanted := map[string]bool{}
		for _, id := range f.held(source) {
			wanted[id] = !slices.Contains(f.leaving[id], c.source)
		}
		have := map[string]bool{}
		for _, id := range f.held(c.server) {
			if have[id] = true; !wanted[id] && !slices.Contains(f.leaving[id], c.address) {
				out.drop(c.address, id, fmt.Sprintf("server [%s], of which this is a clone, does not have it", c.source))
			}
		}
		for _, id := range slices.Sorted(maps.Keys(wanted)) {
			if !wanted[id] || have[id] || slices.Contains(f.pending[id], c.address) {
				continue
			}
			if s := find(state, id); s != nil && c.fits(s) {
				c.bytes += s.Size
				out.load(c.address, s, id, fmt.Sprintf("server [%s], of which this is a clone, has it", c.source))
			}
		}
	}
}

// followSources has clones follow their sources between rounds: what these hold has changed.
func (d *Duty) followSources(ctx context.Context, stocks []cluster.Stock) error {
	d.mu.Lock()
	config, state := d.mu.config, d.mu.state
	d.mu.Unlock()
	if len(config.CloneServers) == 0 || config.PauseCoordination || state == nil {
		return nil
	}
	out := commands{}
	d.mirror(d.clusterState(stocks, config), state, out)
	return d.send(ctx, stocks, out)
}
