// Package native serves the endpoints of native JSON queries: POST /service/v2 and the cancellation
// of running queries (docs/native.md).
//
// The central types are API and Engine, the interface to a Broker. Package internal/native
// translates queries into plans. This package converts the rows of a plan into the result of each
// query type, and the metadata of segments into the result of segmentMetadata. Other endpoints
// about datasources are in package api/coordinator. Package edge writes errors that occur before
// the first byte; later errors abort the response.
package nativequery
