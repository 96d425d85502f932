// Package s3 gives object stores that speak the S3 protocol: as deep storage (Store) and, for those
// who read other buckets, as Client.
//
// Client hides the SDK: listing in pages, reading by ranges that all belong to one version of an
// object (ETag), errors as faults that name the object. Credentials come from the options, else
// from the machine's chain (environment, files, instance role). Store is a deepstore.Store over one
// bucket and prefix; objects are put with a condition, so that none is ever overwritten.
//
// Elsewhere on purpose: globs and the wire form of input sources (package ingest).
package s3
