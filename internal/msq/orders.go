package msq

import (
	"context"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/plan"
)

// workOrders divides the inputs of a stage between workers.
func (c *Controller) workOrders(ctx context.Context, s *stage) ([]*workOrder, error) {
	tables := make([]*ingest.Table, len(s.inputs))
	splits := make([][]ingest.Split, len(s.inputs))
	segments := make([][]partSlice, len(s.inputs))
	units, files, bytes := 0, 0, int64(0)
	for i, in := range s.inputs {
		switch in.kind {
		case externalInput:
			var err error
			if tables[i], err = c.job.table(in.leaf.(*plan.External)); err != nil {
				return nil, err
			}
			if splits[i], err = c.splits(ctx, tables[i], s.single); err != nil {
				return nil, err
			}
			units += len(splits[i])
			for _, sp := range splits[i] {
				if sp.First() {
					files++
					bytes += max(sp.Entity.Size(), 0)
				}
			}
		case tableInput:
			list, sliced := c.sliced(in.leaf.(*plan.Scan))
			n := len(list)
			if segments[i] = list; !sliced {
				var err error
				if n, err = c.countLeaves(ctx, in.leaf.(*plan.Scan)); err != nil {
					return nil, err
				}
			}
			units += n
			files += n
		case stageInput:
			if !in.broadcast {
				units = max(units, in.from.shuffle.partitions)
			}
		default:
			units++
		}
	}
	workers := max(1, min(c.workers, units))
	if c.opts.AutoAssignment && bytes > 0 {
		workers = max(1, min(workers, int((bytes+c.opts.MaxInputBytes-1)/c.opts.MaxInputBytes)))
	}
	if s.single {
		workers = 1
	}
	if limit := c.opts.MaxInputFiles; files > limit*workers {
		return nil, tooManyInputFiles(c.opts, files, (files+limit-1)/limit)
	}
	orders := make([]*workOrder, workers)
	places := min(c.peers.processes(s), workers)
	for n := range orders {
		orders[n] = &workOrder{stage: s, worker: n, workers: workers, threads: max(1, c.threads*places/workers), dir: c.stageDir(s),
			external: make([]externalPart, len(s.inputs))}
		if c.deps.Segments != nil {
			orders[n].slices = make([][]partSlice, len(s.inputs))
		}
		c.begins(orders[n])
	}
	for i := range s.inputs {
		for n, part := range assignSlices(segments[i], workers) {
			if part != nil {
				orders[n].slices[i] = part
			}
		}
		for n, part := range assign(splits[i], workers) {
			orders[n].external[i] = externalPart{table: tables[i], splits: part}
		}
	}
	return orders, nil
}

// splits divides external data into pieces: of SplitBytes, or less where that leaves workers
// without any. For one worker nothing is divided: it reads one piece after the other, and decodes
// each on all its threads.
func (c *Controller) splits(ctx context.Context, table *ingest.Table, single bool) ([]ingest.Split, error) {
	opts := &ingest.Options{Access: c.deps.Access}
	if single || c.workers == 1 {
		return table.Splits(ctx, opts, 0)
	}
	out, err := table.Splits(ctx, opts, SplitBytes)
	if err != nil || len(out) >= c.workers {
		return out, err
	}
	bytes := int64(0)
	for _, s := range out {
		if s.First() {
			bytes += max(s.Entity.Size(), 0)
		}
	}
	if part := bytes / int64(2*c.workers); part >= minSplitBytes { // two each, so that they come out even
		return table.Splits(ctx, opts, part)
	}
	return out, nil
}

// begins makes order one of a worker that has not taken a row yet.
func (c *Controller) begins(order *workOrder) {
	order.id = c.ledger.workerID(order.worker)
	if c.job.Rows != nil && order.stage.readsExternal() {
		order.rows = c.job.Rows.Worker(order.worker)
	}
	switch {
	case order.stage.shuffle.kind != rangeShuffle:
	case c.job.write() != nil:
		order.write = newWriteTarget(c.job.write(), c.chunks, c.opts.maxBuckets(), c.newHasher(), c.newAutoValues(), order.worker, order.workers)
	default:
		order.boosts = &boosts{next: int64(order.worker), step: int64(order.workers)}
	}
}

// assign divides splits so that workers get about equally many bytes; each keeps their order.
func assign(splits []ingest.Split, workers int) [][]ingest.Split {
	out := make([][]ingest.Split, workers)
	load := make([]int64, workers)
	for _, s := range splits {
		least := 0
		for n := range load {
			if load[n] < load[least] {
				least = n
			}
		}
		size := max(s.Entity.Size(), 1)
		if s.End >= 0 || s.Offset > 0 {
			end := s.End
			if end < 0 {
				end = s.Entity.Size()
			}
			size = max(end-s.Offset, 1)
		}
		load[least] += size
		out[least] = append(out[least], s)
	}
	return out
}

// countLeaves counts the segments of a scan.
func (c *Controller) countLeaves(ctx context.Context, scan *plan.Scan) (int, error) {
	if c.deps.Tables == nil {
		return 0, fault.Unsupported("Datasource [%s] can't be read here", scan.DataSource)
	}
	leaves, err := c.deps.Tables.Leaves(ctx, scan, nil)
	if err != nil {
		return 0, err
	}
	for _, l := range leaves {
		l.Reader.Release()
	}
	return len(leaves), nil
}
