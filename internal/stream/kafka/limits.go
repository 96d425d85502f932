package kafka

import "time"

// What is used where the consumerProperties do not say otherwise.
const (
	// fetchBytes bounds the answer to one fetch, partitionBytes the part of one partition in it (a
	// single larger batch comes all the same). Kafka's client takes 50 MiB; many readers in one
	// process each hold an answer.
	fetchBytes     = 16 << 20
	partitionBytes = 1 << 20
	// fetchWait is how long a broker holds a fetch that it has nothing for. It bounds how long a
	// partition that is assigned meanwhile waits.
	fetchWait = 500 * time.Millisecond
	// requestTimeout is how long a broker may take for an answer beyond what the request allows it.
	requestTimeout = 10 * time.Second
	// answerTimeout bounds metadata and offsets with all their attempts.
	answerTimeout  = 15 * time.Second
	connectTimeout = 10 * time.Second
	idleTimeout    = 9 * time.Minute
)

const (
	// bufferedBytes is how much of the records that came a reader holds before it asks for more:
	// decoded bytes. What is under way then still comes.
	bufferedBytes = 32 << 20
	// recordBytes is what a record takes beside its bytes.
	recordBytes = 200
	// leastPause and mostPause bound the wait before a partition, or the metadata, is asked for
	// again after a failure; the wait doubles.
	leastPause, mostPause = 20 * time.Millisecond, time.Second
	// patience is how long a partition may fail before Poll says so: leaders change in less.
	patience = time.Second
	// attempts of requests for metadata and offsets at brokers that do not answer.
	attempts = 6
	// patternTime bounds the match of a pattern with the name of one topic.
	patternTime = time.Second
	// storeBytes bounds files of certificates and keys.
	storeBytes = 16 << 20
)
