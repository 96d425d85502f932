// Package workers gives the endpoints that servers of a cluster call on a worker: the Overlord
// assigns and ends tasks and reads live reports and logs, other workers have parts of their tasks
// done (package worker draws the exchange).
//
// The central type is Parts, which holds the sessions of tasks that run on other workers.
package workers
