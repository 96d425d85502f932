// Package query gives the life of a query, in whatever language it comes: it is admitted or refused
// (lanes, quotas of users and datasources, the blocklist), gets a priority, shows in the lists of
// what runs and ran, and can be cancelled.
//
// The central types are Running, the registry of a Broker's queries, Request, a checked SQL
// request, and Session, what native queries ask of one state of the timeline. Engine is what the
// endpoints need of a Broker.
//
// Elsewhere: HTTP (api/sql, api/nativequery, api/statements), planning and running (package
// broker), the parameters of a query's context (package querycontext).
package query
