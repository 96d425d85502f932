// Package export writes rows to files outside of this system: what INSERT INTO EXTERN needs
// (spec/ingestion.md, section 2).
//
// The central type is Places, made from the settings of the server: it says where files may be
// written, and opens a Destination, which is a folder of the local disk or a prefix of an object
// store. A File turns batches into the bytes of one format. Which rows go to which file, the names
// of files and what becomes of them when the export fails is decided by package msq.
package export
