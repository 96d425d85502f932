// Package s3 implements object stores with the S3 protocol: as deep storage (Store), and as Client
// for input from other buckets.
//
// Client hides the SDK. It lists in pages, reads ranges of a single version of an object (ETag),
// and returns errors as faults that name the object. Credentials come from the options, or from the
// default chain of the machine (environment, files, instance role). Store is a deepstore.Store over
// one bucket and prefix; it creates objects conditionally, so it never overwrites one.
//
// Elsewhere on purpose: globs and the wire form of input sources (package ingest).
package s3
