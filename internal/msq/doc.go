// Package msq runs statements in stages: ingestion by SQL (INSERT, REPLACE) and queries whose
// results are kept.
//
// The central function is Run. It takes a Job, whose plan is a plan.Write or a query, and cuts the
// plan into stages at the places where rows must move between workers. A stage is a fragment of the
// plan that package exec runs, its inputs (files, segments, outputs of other stages) and a shuffle
// that says how its rows are distributed:
//
//	INSERT .. SELECT .. FROM TABLE(EXTERN(..)) PARTITIONED BY DAY CLUSTERED BY page
//
//	stage 0  scan              files ─► filter, project ─► sort by (day, page, boost) on disk
//	                           controller: boundaries of partitions from the sorted runs, segment ids
//	stage 1  segmentGenerator  merge of one partition ─► segment file ─► deep storage
//	                           controller: publish in one transaction, wait until it can be queried
//
// The controller is the goroutine of Run; workers are goroutine trees below it, named and numbered
// as tasks are. Between them go only work orders (what to run, which inputs, where to write) and
// outputs on disk, so that a worker may as well be elsewhere: with several workers and other
// processes that help (Deps.Join), orders are sent to them as parts. Frames of outputs are then
// read from where they are:
//
//	controller ── Part: plan, splits, frames to read ──► Follower.Do ── runs it as here
//	           ◄── PartProgress, PartResult: an index of frames, counters, warnings ──
//	readers    ◄── frames ── Follower.Frame
//
// A part whose process is lost is done again, here or elsewhere, and so is what a lost process had
// written before, unless it is durable. What others still have of a job whose controller is lost is
// taken up by the next run of its task (records.go).
//
//	job.go, controller.go   Run and the order of things; orders.go: who reads what
//	stage.go, cut.go        stages and how a plan becomes them; definition.go: their JSON
//	worker.go, input.go     running a fragment; where its rows come from; slices.go: segments of datasources
//	output.go               writers of stage outputs: one partition, by hash; sorted.go: by ranges of sorted keys
//	multivalue.go           lists that stay lists on their way to segments
//	partition.go            boundaries; generate.go: segments; publish.go: ids, tombstones, the transaction
//	early.go                segments that are built while rows are still being read
//	target.go, hash.go, auto.go  what native specs ask beyond statements: metrics, hashed partitions, types by time chunk
//	compaction.go           what segments remember of how they were written
//	results.go              rows of a SELECT, in pages on disk
//	export.go, pages.go     INSERT INTO EXTERN: files outside, each a page of rows
//	help.go, part.go, part_generate.go  parts that other processes do; follower.go: their side, learnt.go: what they learn
//	records.go              what is done, for the next run of the task and for this one
//	attempts.go, durable.go workers that do their work again; intermediate data in deep storage
//	report.go, counters.go  what clients poll, snapshot.go takes it; faults.go: the codes; options.go: context parameters
//
// The metastore, deep storage and the cluster are interfaces here (deps.go), because layers above
// implement them. Deliberately elsewhere: the task queue and its slots (package task), the JSON of
// rows (package api), parsing and planning (package sql).
package msq
