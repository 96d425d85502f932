package assign

import "github.com/hengedb/henge/internal/obs"

// count tells the meter what became of segments, in the words of the interface.
func (d *Duty) count(metric string, n int, dims ...string) {
	if n > 0 {
		d.explain(metric, n, dims)
		d.o.Follow.Meter.Count(obs.Occurrence{Service: "coordinator", Metric: metric, Dims: dims}, float64(n))
	}
}

// explain logs what was counted with a dimension that debugDimensions ask for.
func (d *Duty) explain(metric string, n int, dims []string) {
	wanted := d.debug.Load()
	if wanted == nil {
		return
	}
	for i := 0; i+1 < len(dims); i += 2 {
		if value, ok := (*wanted)[dims[i]]; ok && value == dims[i+1] {
			args := []any{"metric", metric, "value", n}
			for _, dim := range dims {
				args = append(args, dim)
			}
			d.o.Log.Info("metric matches debugDimensions", args...)
			return
		}
	}
}

// measureLocked counts what a server was ordered to do.
func (d *Duty) measureLocked(server string, o *order) {
	d.count("segment/loadQueue/assigned", len(o.load), "server", server)
	d.count("segment/dropped/count", len(o.drop), "server", server)
	unneeded := 0
	for _, id := range o.drop {
		if o.reasons[id] == unwanted {
			unneeded++
		}
	}
	d.count("segment/unneeded/count", unneeded, "server", server)
	moved := 0
	for _, l := range o.load {
		if _, moves := d.mu.moves[l.ID]; moves {
			moved++
		}
	}
	d.count("segment/moved/count", moved, "server", server)
	d.count("segment/assigned/count", len(o.load)-moved, "server", server)
}
