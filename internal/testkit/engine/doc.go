// Package engine runs the statements of test scripts in this process.
//
// The central types: Store, the segments that a test loads, written by the real segment writer into
// a temporary folder and published on a real timeline; Direct, which prepares, optimizes and runs
// statements over a Store without HTTP; HTTP, which sends them to a server. Serve puts a real
// Broker behind real endpoints on a Store. All except HTTP, which cannot load, are slt.Engines;
// package whole contains an engine that loads by ingestion into a whole server.
package engine
