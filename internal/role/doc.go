// Package role wires a process of Henge: it opens the data directory, starts the roles that the
// process has, listens, and stops them in order.
//
// The central type is Node. It is wiring and nothing else: what a server does is in the package of
// its name (broker, historical, worker, router, overlord), what an endpoint answers in package api.
//
// Order of start: lock on the data directory, metastore, listeners (so that a port in use is found
// before anything runs), roles, ready. Order of stop: no new connections, requests under way get a
// grace period, roles, metastore, lock.
package role
