// Package uploads stores files that clients send, until tasks have loaded them: files of a browser,
// or files that the server cannot reach.
//
// The central type is Store, which belongs to the leading Overlord; Remote reads the uploads of the
// leader from another process. Both implement ingest.Uploads, through which the input source of
// type upload finds its files.
//
// Invariants:
//  1. A file has no name on disk: its bytes are freed when it is dropped and the last reader has
//     closed it, or when the process ends in any way.
//  2. The size of each file and the total size of all files are limited.
//  3. An upload is dropped when a task that names it has succeeded, and an hour after its last use.
//     A failed task leaves it for another attempt. An unfinished task that names it counts as a
//     use.
//
// The code that authorizes statements, tasks and samples also authorizes reading uploads
// (ingest.PermitUploads). HTTP is in package api/uploads.
package uploads
