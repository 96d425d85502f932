// Package edge gives what all endpoint families share: the mapping of product names to one set of
// paths, the turning of errors into responses, and JSON in and out.
//
// The central types are Handler, a handler that returns its error instead of writing one, and
// Dialect, the product name a request came under. This package is the only place that picks a
// status code for an error and the only place that writes an error body. Which paths exist is
// decided by the packages beside it; who answers on which port by package role.
package edge
