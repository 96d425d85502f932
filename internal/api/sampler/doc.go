// Package sampler serves the endpoints that preview input. `POST /service/indexer/v1/sampler` reads
// the first records of any source and format, and returns the records and the rows that an
// ingestion spec would create from them.
//
// `POST /service/indexer/v1/survey` reads files, up to a number of records, and returns their
// format, the types that can represent every value, and the time column.
//
// Package ingest reads the input and package ingest/spec the schema. Transforms, filters and rollup
// run as a plan that package native creates and the Broker runs. This package selects the records
// and writes the response.
package sampler
