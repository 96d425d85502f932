// Package sampler gives the endpoint that previews input: `POST /service/indexer/v1/sampler` reads
// the first records of any source and format and answers with what they are and what rows an
// ingestion spec would make of them (spec/streaming.md, section 8).
//
// Reading is package ingest's, the schema package ingest/spec's, and transforms, filters and rollup
// run as a plan that package native makes and the Broker runs. Here is what is the sampler's own:
// which records are taken, and the shape of the answer.
package sampler
