package budget

import (
	"runtime"
	"sync"
)

var cores = sync.OnceValue(func() int { return runtime.GOMAXPROCS(0) })

// Cores returns how many cores the process may compute on: as many as the machine, its control
// group or the environment's GOMAXPROCS give it.
func Cores() int { return cores() }

// SpareThread lets Go run one thread more than there are cores, for a whole process that has
// schedulers of its own, which keep to the cores. Go looks whether there is something to read on
// connections when a thread has nothing else to do, otherwise a hundred times a second only: a
// server whose cores all compute would hear of requests late and in bunches.
func SpareThread() { runtime.GOMAXPROCS(Cores() + 1) }
