// Package rowplan says how the rows of a datasource are made of the fields of records: what a
// dataSchema, and what was learnt of the records, make of them.
//
// The central type is Plan. Loads of files (tasktype/batch) make one when all records are learnt
// of; streams (tasktype/streaming/intake) make a new one whenever records show something new. Both
// give the same rows of the same records.
//
//	fields of records ─► Rows: transforms, filter, types ─► Single: metrics of each row ─► rows
//
// Deliberately elsewhere: reading records (package ingest), what transforms and aggregators mean
// (package native), and who runs the plan.
package rowplan
