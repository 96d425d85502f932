// Package workers serves the endpoints that servers of a cluster call on a worker. The Overlord
// assigns and ends tasks and reads live reports and logs; other workers run parts of their tasks on
// it (package worker draws the exchange).
//
// The central type is Parts, which holds the sessions of tasks that run on other workers.
package workers
