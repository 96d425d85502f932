package assign

import (
	"math/rand/v2"

	"github.com/hengedb/henge/internal/fault"
)

// Strategy selects the server of a tier that loads a segment.
type Strategy string

// The strategies that the API accepts.
const (
	// Cost selects the server with the most free space, and avoids segments of adjacent intervals on
	// the same server.
	Cost Strategy = "cost"
	// DiskNormalized selects the server with the lowest disk usage ratio, regardless of adjacent
	// segments: for servers of different sizes.
	DiskNormalized Strategy = "diskNormalized"
	// Random selects a random server, and does not move segments.
	Random Strategy = "random"
)

// ParseStrategy parses the name of a strategy in the API. cachingCost, the name in older releases,
// means Cost, which is computed anew only for each time chunk.
func ParseStrategy(name string) (Strategy, error) {
	switch s := Strategy(name); s {
	case Cost, DiskNormalized, Random:
		return s, nil
	case "cachingCost":
		return Cost, nil
	}
	return "", fault.InvalidInput("Setting [service.coordinator.balancer.strategy] is [%s], but must be cost, cachingCost, diskNormalized or random", name)
}

// anyOf returns one of some servers, or nil.
func anyOf(servers []*server) *server {
	if len(servers) == 0 {
		return nil
	}
	return servers[rand.IntN(len(servers))]
}
