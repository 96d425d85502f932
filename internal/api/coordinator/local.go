package coordinator

import (
	"cmp"
	"slices"
)

// Holder is a Historical of this process.
type Holder interface {
	// Loaded returns the ids of the segments held, sorted.
	Loaded() []string
	// Used returns their bytes.
	Used() int64
}

// Local is the inventory of a single process: one Historical and, if it has an address, one worker, which holds no segments.
type Local struct {
	// Historical describes the Historical; what it holds comes from Holder.
	Historical Server
	Holder     Holder
	// Worker is host:port of the worker.
	Worker string
}

// Servers returns both.
func (l Local) Servers() []Server {
	h := l.Historical
	h.Type, h.Loaded, h.UsedSize = "historical", l.Holder.Loaded(), l.Holder.Used()
	out := []Server{h}
	if l.Worker != "" {
		out = append(out, Server{Host: l.Worker, Type: "indexer-executor", Tier: h.Tier})
	}
	slices.SortFunc(out, func(a, b Server) int { return cmp.Compare(a.Host, b.Host) })
	return out
}
