// Package role wires a process of Henge: it opens the data directory, starts the roles of the
// process, listens, and stops the roles in order.
//
// The central type is Node. It contains only wiring: the work of a server is in the package of its
// name (broker, historical, worker, router, overlord), the endpoints are in package api.
//
// Order of start: lock of the data directory, metastore, listeners (so that a port in use is
// detected before anything runs), roles, ready. Order of stop: no new connections, a grace period
// for running requests, roles, metastore, lock.
package role
