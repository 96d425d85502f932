// Package native gives the endpoints of native JSON queries: POST /service/v2 and the cancelling of
// what runs (docs/native.md).
//
// The central types are API and Engine, what this package needs of a Broker. What a query means is
// decided by internal/native, which translates it into a plan; here the rows of the plan become the
// answers of each query type, and the facts of segments those of segmentMetadata. What clients ask
// about datasources beside it is in package api/coordinator. Errors before the first byte become
// bodies in package edge; later ones break the answer off.
package nativequery
