package compact

import (
	"fmt"
	"strconv"

	"github.com/hengedb/henge/internal/querycontext"
)

// maxAutoSlots is how many slots a task of the engine msq takes where nothing else is said.
const maxAutoSlots = 5

// cost is how many slots the task of a group takes, when so many are free.
func cost(config *Config, cluster *Cluster, free int) int {
	if config.engine(cluster) == EngineMSQ {
		return contextSlots(config.TaskContext, min(max(2, free), maxAutoSlots))
	}
	if config.Tuning == nil {
		return 1
	}
	return nativeSlots(config.Tuning)
}

// nativeSlots is the subtasks and the one that supervises them, where there are any: ranges are
// always made in several phases.
func nativeSlots(t *TuningConfig) int {
	subTasks, needed := numberOf(t.MaxSubTasks), 2
	if t.Partitions != nil && t.Partitions.kind() == byRange {
		needed = 1
	}
	if subTasks < needed {
		return 1
	}
	return subTasks + 1
}

// contextSlots is the slots that a task's context gives it.
func contextSlots(context map[string]any, otherwise int) int {
	if n, err := strconv.Atoi(fmt.Sprint(querycontext.MaxNumTasks.In(context))); err == nil && n > 0 {
		return n
	}
	return otherwise
}
