// Package edge contains the parts that all endpoint families share: the mapping of product names to
// one set of paths, the conversion of errors into responses, and reading and writing JSON.
//
// The central types are Handler, a handler that returns its error instead of writing it, and
// Dialect, the product name in the path of a request. Only this package chooses the status code of
// an error, and only this package writes error bodies. The neighbouring packages define the paths;
// package role determines which port serves them.
package edge
