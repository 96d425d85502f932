package assign

import (
	"math/rand/v2"

	"github.com/hengedb/henge/internal/fault"
)

// Strategy says which of the servers of a tier gets a segment.
type Strategy string

// The strategies of the interface.
const (
	// Cost gives it to the server with most room, apart from its neighbours in time.
	Cost Strategy = "cost"
	// DiskNormalized gives it to the server of whose room the least is taken, wherever its neighbours
	// are: for servers of different size.
	DiskNormalized Strategy = "diskNormalized"
	// Random gives it to any, and moves nothing.
	Random Strategy = "random"
)

// ParseStrategy reads a strategy by its name in the interface. What older releases call cachingCost
// is Cost, which counts anew for each time chunk only.
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
func anyOf(ships []*ship) *ship {
	if len(ships) == 0 {
		return nil
	}
	return ships[rand.IntN(len(ships))]
}
