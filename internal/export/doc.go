// Package export writes rows to external files, for INSERT INTO EXTERN.
//
// The central type is Destinations, created from the settings of the server. It determines the
// allowed locations, and opens a Destination: a folder of the local disk or a prefix of an object
// store. A File converts batches into the bytes of one format. Package msq decides which rows go to
// which file, names the files, and deletes them if the export fails.
package export
