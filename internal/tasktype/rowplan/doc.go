// Package rowplan determines how the fields of records become the rows of a datasource, from a
// dataSchema and from the fields that were discovered in the records.
//
// The central type is Plan. Loads of files (tasktype/batch) create one after all records have been
// inspected; streams (tasktype/streaming/intake) create a new one whenever records contain
// something new. Both create the same rows from the same records.
//
//	fields of records ─► Rows: transforms, filter, types ─► Single: metrics of each row ─► rows
//
// Deliberately elsewhere: reading records (package ingest), the meaning of transforms and
// aggregators (package native), and running the plan.
package rowplan
