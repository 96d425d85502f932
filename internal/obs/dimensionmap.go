package obs

import (
	"encoding/json"
	"fmt"
	"slices"
)

// DimensionMap defines which metrics are exported to scrapers, and with which dimensions
// (service.emitter.prometheus.dimensionMapPath). The key is the name of a metric. If several
// services measure it, the key may also be the name of one of the services, a dash and the name:
// [service/historical-segment/count].
type DimensionMap map[string]MappedMetric

// MappedMetric defines how a metric is exported.
type MappedMetric struct {
	Dimensions []string `json:"dimensions"`
	// Type is "count", "gauge" or "timer".
	Type string `json:"type"`
	// Factor is the divisor of the milliseconds of a timer; 0: 1,000, which converts them to seconds.
	Factor float64 `json:"conversionFactor"`
	Help   string  `json:"help"`
}

// ParseDimensionMap parses a map in JSON.
func ParseDimensionMap(text []byte) (DimensionMap, error) {
	m := DimensionMap{}
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, err
	}
	for name, metric := range m {
		if !slices.Contains([]string{"count", "gauge", "timer"}, metric.Type) {
			return nil, fmt.Errorf("metric [%s] has the type [%s]; only count, gauge and timer are known", name, metric.Type)
		}
		if metric.Factor < 0 {
			return nil, fmt.Errorf("metric [%s] has the conversionFactor [%v], but must have a positive one", name, metric.Factor)
		}
	}
	return m, nil
}

// of returns how scrapers see a metric of a service, such as "service/historical"; false: not at
// all.
func (m DimensionMap) of(service, metric string) (MappedMetric, bool) {
	if m == nil {
		return MappedMetric{}, true
	}
	if mapped, ok := m[metric]; ok {
		return mapped, true
	}
	mapped, ok := m[service+"-"+metric]
	return mapped, ok
}

// unit returns what seconds are multiplied by to be what the map wants.
func (m MappedMetric) unit() float64 {
	if m.Factor == 0 {
		return 1
	}
	return 1000 / m.Factor
}

// point is one value, or histogram, as scrapers see it.
type point struct {
	name, help     string
	kind           string // as in MappedMetric
	labels, values []string
	value          float64
	count          uint64
	buckets        []uint64
	// unit is what seconds are multiplied by to be in the unit of a timer.
	unit float64
}

// with returns the dimensions of a metric that are mapped, with "" for those that a value does not
// have.
func (m MappedMetric) with(dims []string, all bool) (names, values []string) {
	if all {
		for i := 0; i+1 < len(dims); i += 2 {
			names, values = append(names, dims[i]), append(values, dims[i+1])
		}
		return names, values
	}
	for _, name := range m.Dimensions {
		value := ""
		for i := 0; i+1 < len(dims); i += 2 {
			if dims[i] == name {
				value = dims[i+1]
			}
		}
		names, values = append(names, name), append(values, value)
	}
	return names, values
}

// points are what scrapers see, in the order in which it came. Values that differ in no label are
// one: their sum.
type points struct {
	list []*point
	at   map[string]*point
}

func (p *points) add(one point) {
	key := fmt.Sprintf("%s\x00%q\x00%q", one.name, one.labels, one.values)
	if p.at == nil {
		p.at = map[string]*point{}
	}
	same := p.at[key]
	if same == nil {
		p.at[key] = &one
		p.list = append(p.list, &one)
		return
	}
	same.value += one.value
	same.count += one.count
	for i, n := range one.buckets {
		if i < len(same.buckets) {
			same.buckets[i] += n
		}
	}
}
