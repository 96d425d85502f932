package compact

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/querycontext"
)

// ValidateEngine checks that the compaction engine of the cluster supports the settings.
func (c *Config) ValidateEngine(cluster *Cluster) error {
	if c.engine(cluster) != EngineMSQ {
		return nil
	}
	p := c.partitions()
	switch {
	case p == nil:
		return fault.InvalidInput("Invalid config: MSQ: tuningConfig.partitionsSpec must be specified")
	case p.kind() != dynamic && p.kind() != byRange:
		return fault.InvalidInput("Invalid config: MSQ: Invalid partitioning type [%s]. Must be either 'dynamic' or 'range'", p.Type)
	case p.Type == dynamic && p.MaxTotalRows != nil:
		return fault.InvalidInput("Invalid config: MSQ: 'maxTotalRows' not supported with 'dynamic' partitioning")
	}
	if c.Dimensions != nil {
		for _, name := range p.dimensions() {
			i := slices.Index(c.Dimensions.names(), name)
			if i >= 0 && !slices.Contains([]string{"string", "auto"}, c.Dimensions.Dimensions[i].kind()) {
				return fault.InvalidInput("Invalid config: MSQ: Non-string partition dimension [%s] of type [%s] not supported with 'range' partition spec",
					name, c.Dimensions.Dimensions[i].kind())
			}
		}
	}
	if c.Granularity != nil && c.Granularity.Rollup != nil && *c.Granularity.Rollup != (len(c.Metrics) > 0) {
		return fault.InvalidInput("Invalid config: MSQ: 'granularitySpec.rollup' must be %v if and only if 'metricsSpec' is %s",
			*c.Granularity.Rollup, map[bool]string{true: "specified", false: "null or empty"}[*c.Granularity.Rollup])
	}
	if n := querycontext.MaxNumTasks.In(c.TaskContext); n != nil {
		if tasks, err := strconv.Atoi(fmt.Sprint(n)); err != nil || tasks < 2 {
			return fault.InvalidInput("Invalid config: MSQ: Context maxNumTasks [%v] must be at least 2 (1 controller + 1 worker)", n)
		}
	}
	return c.combinable()
}

// combinable tests that aggregating what was aggregated before gives the same column: a metric must
// read the column it writes.
func (c *Config) combinable() error {
	for _, text := range c.Metrics {
		var metric struct {
			Type  string `json:"type"`
			Name  string `json:"name"`
			Field string `json:"fieldName"`
		}
		if err := json.Unmarshal(text, &metric); err != nil {
			return fault.InvalidInput("A metric must be an object").WithCause(err)
		}
		if metric.Type == "count" || metric.Field != "" && metric.Field != metric.Name {
			return fault.InvalidInput("Invalid config: MSQ: Aggregator [%s] not supported in 'metricsSpec': it does not combine into its own column",
				metric.Name)
		}
	}
	return nil
}

// kind is the type of a dimension.
func (d *Dimension) kind() string {
	var fields struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(d.text, &fields) != nil { // it was read before
		return ""
	}
	return fields.Type
}
