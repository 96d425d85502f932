// Package query manages the life of a query, in any language: it admits or rejects the query
// (lanes, quotas of users and datasources, the blocklist), assigns a priority, lists running and
// finished queries, and cancels queries.
//
// The central types are Running, the registry of the queries of a Broker; Request, a validated SQL
// request; and Session, the access of native queries to one state of the timeline. Engine is the
// interface of the endpoints to a Broker.
//
// Elsewhere: HTTP (api/sql, api/nativequery, api/statements), planning and running (package
// broker), the parameters of a query's context (package querycontext).
package query
