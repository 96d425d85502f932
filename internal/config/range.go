package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// highestPort is the largest number of a port.
const highestPort = 65535

// mostThreads bounds what a wrong digit would start; no machine has as many cores.
const mostThreads = 4096

// below are the least values of numbers that may be negative; those that are not here start at 0.
var below = map[string]int64{
	"service.server.priority":                                math.MinInt32,
	"service.query.scheduler.prioritization.adjustment":      math.MinInt32,
	"service.audit.manager.maxPayloadSizeBytes":              -1,
	"service.coordinator.kill.durationToRetain":              math.MinInt64,
	"service.discovery.leaseDuration":                        1,
	"service.leader.leaseDuration":                           1,
	"service.memory.limit":                                   1 << 20,
	"service.auth.authenticator.<name>.credentialIterations": 1,
}

// above are the largest values of numbers that have one.
var above = map[string]int64{
	"service.processing.numThreads":                     mostThreads,
	"service.worker.capacity":                           mostThreads,
	"service.segmentCache.numLoadingThreads":            1024,
	"service.segmentCache.numBootstrapThreads":          1024,
	"service.query.scheduler.laning.maxLowPercent":      100,
	"service.server.priority":                           math.MaxInt32,
	"service.query.scheduler.prioritization.adjustment": math.MaxInt32,
}

// bounds returns the least and the largest value of a number: a count, bytes, or milliseconds of a
// duration.
func bounds(p *Property) (least, most int64) {
	least, most = 0, math.MaxInt64
	if strings.HasSuffix(p.Key, "Port") || strings.HasSuffix(p.Key, ".port") {
		least, most = -1, highestPort
	}
	if n, ok := below[p.Key]; ok {
		least = n
	}
	if n, ok := above[p.Key]; ok {
		most = n
	}
	return least, most
}

// checkRange refuses a number that is of the right kind and makes no sense. What has no effect may
// be anything.
func checkRange(p *Property, v string) error {
	var n int64
	switch p.Kind {
	case Int:
		if v == "" {
			return nil
		}
		n, _ = strconv.ParseInt(v, 10, 64)
	case Bytes:
		n, _ = parseBytes(v, 1<<40)
	case Duration:
		if v == "" {
			return nil
		}
		d, _ := parseDuration(v)
		n = int64(d / time.Millisecond)
	default:
		return nil
	}
	least, most := bounds(p)
	switch {
	case slices.ContainsFunc(Accepted, func(a Property) bool { return a.Key == p.Key }) || n >= least && n <= most:
		return nil
	case p.Kind == Duration && least > 0:
		return fmt.Errorf("must be longer than zero")
	case p.Kind == Duration:
		return fmt.Errorf("must not be negative")
	case most == math.MaxInt64:
		return fmt.Errorf("must be at least [%d]", least)
	}
	return fmt.Errorf("must be between [%d] and [%d]", least, most)
}
