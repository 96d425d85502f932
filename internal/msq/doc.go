// Package msq runs statements in stages: ingestion by SQL (INSERT, REPLACE) and queries whose
// results are stored.
//
// The central function is Run. It takes a Job, whose plan is a plan.Write or a query, and divides
// the plan into stages wherever rows must move between workers. A stage is a fragment of the plan
// that package exec runs, its inputs (files, segments, outputs of other stages) and a shuffle that
// defines the distribution of its rows:
//
//	INSERT .. SELECT .. FROM TABLE(EXTERN(..)) PARTITIONED BY DAY CLUSTERED BY page
//
//	stage 0  scan              files ─► filter, project ─► sort by (day, page, boost) on disk
//	                           controller: boundaries of partitions from the sorted runs, segment ids
//	stage 1  segmentGenerator  merge of one partition ─► segment file ─► deep storage
//	                           controller: publish in one transaction, wait until it can be queried
//
// The controller is the goroutine of Run. Workers are goroutine trees below it, with the names and
// numbers of workers of a task. They exchange only work orders (fragment, inputs, destination) and
// outputs on disk, so a worker can be in another process. With several workers and other processes
// that help (Deps.Join), orders are sent to these processes as parts. Readers then fetch frames of
// outputs from the process that has them:
//
//	controller ── Part: plan, splits, frames to read ──► Follower.Do ── runs the part
//	           ◄── PartProgress, PartResult: an index of frames, counters, warnings ──
//	readers    ◄── frames ── Follower.Frame
//
// A part whose process is lost is repeated, in the controller's process or elsewhere, and so are
// the earlier outputs of that process unless they are durable. If the controller of a job is lost,
// the next run of its task reuses the outputs of the other processes (records.go).
//
// Four owners guard the state of a job, each its own; the type core is what all of them read:
//
//	Controller   the order of stages, and the report of the job
//	ledger       completed work: records of finished parts, attempts of workers
//	peers        other processes that run parts, and the outputs that they may read
//	publisher    locks, segment ids, pushed segments, the transaction
//
//	job.go, controller.go   Run and the order of stages; core.go; orders.go: inputs of workers
//	stage.go, cut.go        stages, and the division of a plan; definition.go: their JSON
//	worker.go, input.go     running a fragment; its inputs; slices.go: segments of
//	                        datasources
//	output.go               writers of stage outputs: one partition, by hash; sorted.go: by ranges of
//	                        sorted keys; deal.go: by time chunks, for rows in no order
//	multivalue.go           lists that are stored as lists
//	partition.go            boundaries; generate.go: segments; publish.go: the publisher
//	eager.go                segments that are built while rows are still being read
//	target.go, hash.go, auto.go  features of native specs: metrics, hashed partitions,
//	                             types by time chunk
//	compaction.go           the compaction state of segments
//	results.go              rows of a SELECT, in pages on disk
//	export.go, pages.go     INSERT INTO EXTERN: external files, each a page of rows
//	peers.go, part.go, part_generate.go parts that other processes run; follower.go: their side,
//	                                    observed.go: the facts that they report
//	records.go              the ledger: completed work, for this run and the next run of the task
//	attempts.go, durable.go repeated work of workers; intermediate data in deep storage
//	report.go, counters.go  the report that clients poll, taken by snapshot.go; faults.go: codes;
//	                        options.go: context parameters
//
// The metastore, deep storage and the cluster are interfaces here (deps.go), because layers above
// implement them. Deliberately elsewhere: the task queue and its slots (package task), the JSON of
// rows (package api), parsing and planning (package sql).
package msq
