package msq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/exec/window"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
)

// Fault is the failure of a job, or a warning, as in reports: a code, a message and the fields of
// that code.
type Fault struct {
	Code    string
	Message string // "" where the code has none
	Fields  []Field
	// Stage is the number of the stage, -1 for the controller; Worker the id of the task in which it
	// occurred.
	Stage  int
	Worker string
	// Trace contains details for operators.
	Trace string

	category fault.Category
	persona  fault.Persona
	cause    error
}

// Field is a member of a fault's JSON beside code and message.
type Field struct {
	Name  string
	Value any
}

// Error returns "code: message".
func (f *Fault) Error() string {
	if f.Message == "" {
		return f.Code
	}
	return f.Code + ": " + f.Message
}

// Unwrap returns the error behind the fault.
func (f *Fault) Unwrap() error { return f.cause }

// MarshalJSON returns the member "error" of a report.
func (f *Fault) MarshalJSON() ([]byte, error) {
	var b objectBuilder
	b.add("errorCode", f.Code)
	for _, field := range f.Fields {
		b.add(field.Name, field.Value)
	}
	if f.Message != "" {
		b.add("errorMessage", f.Message)
	}
	return b.done()
}

// Category is the kind of the failure, for statuses and metrics. The statements API does not show
// it: see Structured.
func (f *Fault) Category() fault.Category { return f.category }

// Structured returns the fault as the errorDetails of the statements API: the code, and the fields
// as strings in the context.
func (f *Fault) Structured() *fault.Error {
	e := fault.Runtime("%s", f.Message).WithCode(f.Code).WithLegacy(fault.LegacyNone)
	e.Persona, e.Category = f.persona, fault.CategoryUncategorized
	for _, field := range f.Fields {
		text, ok := field.Value.(string)
		if !ok {
			encoded, err := json.Marshal(field.Value)
			if err != nil {
				continue
			}
			text = string(encoded)
		}
		e = e.With(field.Name, text)
	}
	return e
}

func newFault(code string, category fault.Category, message string, fields ...Field) *Fault {
	return &Fault{Code: code, Message: message, Fields: fields, Stage: -1, category: category, persona: fault.User}
}

// at returns f with the place it was met at, unless it has one.
func (f *Fault) at(stage int, worker string) *Fault {
	if f.Stage >= 0 || f.Worker != "" {
		return f
	}
	c := *f
	c.Stage, c.Worker = stage, worker
	return &c
}

// Reasons of Canceled.
const (
	ReasonShutdown    = "TASK_SHUTDOWN"
	ReasonUserRequest = "USER_REQUEST"
	ReasonTimeout     = "QUERY_TIMEOUT"
	ReasonUnknown     = "UNKNOWN"
)

// Causes with which a job's context is ended (context.WithCancelCause) to say why.
var (
	ErrShutdown    = errors.New("task shutdown")
	ErrUserRequest = errors.New("user request")
	ErrTimeout     = errors.New("query timeout")
)

// ErrPreempted marks the loss of a lock to a task of higher priority.
var ErrPreempted = errors.New("lock preempted")

func canceled(reason string) *Fault {
	message := map[string]string{ReasonShutdown: "Query canceled due to task shutdown", ReasonUserRequest: "Query canceled",
		ReasonTimeout: "Query timed out"}[reason]
	category := fault.CategoryCanceled
	if reason == ReasonTimeout {
		category = fault.CategoryTimeout
	}
	if message == "" {
		message = "Query interrupted"
	}
	return newFault("Canceled", category, message, Field{"reason", reason})
}

func cannotParse(e *ingest.ParseError) *Fault {
	f := newFault("CannotParseExternalData", fault.CategoryInvalidInput, e.Error())
	f.Trace = e.Error()
	return f
}

// externalDataWarning is a warning only: the input was read.
func externalDataWarning(n *ingest.Notice) *Fault {
	f := newFault("ExternalDataWarning", fault.CategoryInvalidInput, n.Error(), Field{"path", n.Path})
	if n.Count > 0 {
		f.Fields = append(f.Fields, Field{"count", n.Count})
	}
	return f
}

func columnNameRestricted(name string) *Fault {
	return newFault("ColumnNameRestricted", fault.CategoryInvalidInput, fmt.Sprintf("[%s] column name is reserved for MSQ's internal purpose. "+
		"Please retry the query after renaming the column.", name), Field{"columnName", name})
}

func columnTypeNotSupported(name, kind string) *Fault {
	if kind == "" {
		return newFault("ColumnTypeNotSupported", fault.CategoryInvalidInput, fmt.Sprintf("Cannot handle column [%s] with unknown type", name),
			Field{"columnName", name})
	}
	return newFault("ColumnTypeNotSupported", fault.CategoryInvalidInput, fmt.Sprintf("Cannot handle column [%s] with type [%s]", name, kind),
		Field{"columnName", name}, Field{"columnType", kind})
}

func broadcastTooLarge(limit int64) *Fault {
	return newFault("BroadcastTablesTooLarge", fault.CategoryInvalidInput, fmt.Sprintf("Size of broadcast tables in JOIN exceeds reserved memory limit "+
		"(memory reserved for broadcast tables = [%s] bytes). Increase available memory, or set [sqlJoinAlgorithm: sortMerge] in query context "+
		"to use a shuffle-based join.", thousands(limit)), Field{"maxBroadcastTablesSize", limit}, Field{"configuredJoinAlgorithm", "broadcast"})
}

func cannotAllocate(dataSource string, want chrono.Interval, got *chrono.Interval, granularity string) *Fault {
	fields := []Field{{"dataSource", dataSource}, {"interval", want.String()}, {"allocatedInterval", nil}}
	if got == nil {
		return newFault("InsertCannotAllocateSegment", fault.CategoryRuntimeFailure, fmt.Sprintf("Cannot allocate segment for dataSource [%s], "+
			"interval [%s]. This can happen if the prior ingestion uses non-extendable shard specs or if the partitioned by granularity is "+
			"different from the granularity of the pre-existing segments. Check the granularities of the pre-existing segments or re-run the "+
			"ingestion with REPLACE to overwrite over the existing data.", dataSource, want), fields...)
	}
	fields[2].Value = got.String()
	return newFault("InsertCannotAllocateSegment", fault.CategoryRuntimeFailure, fmt.Sprintf("Requested segment for dataSource [%s], interval [%s], "+
		"but got [%s] interval instead. This happens when an overlapping segment is already present with a coarser granularity for the requested "+
		"interval. Either set the partition granularity for the INSERT to [%s] to append to existing data or use REPLACE to overwrite over the "+
		"pre-existing segment.", dataSource, want, got, granularity), fields...)
}

// cannotAppend says that rows at a time can't be appended by a native task, which follows the
// chunks that are there.
func cannotAppend(at int64) *Fault {
	return newFault("InsertCannotAllocateSegment", fault.CategoryRuntimeFailure, fmt.Sprintf("Rows can't be appended at [%s]: newer segments hide a part of the "+
		"time chunk that is there, or another task has just changed the time chunks. Compact the interval or submit the task again.",
		chrono.FormatMillis(at, chrono.UTC)), Field{"timestamp", at})
}

func insertEmpty(dataSource string) *Fault {
	return newFault("InsertCannotBeEmpty", fault.CategoryInvalidInput, fmt.Sprintf("No rows to insert for dataSource[%s]. "+
		"Set failOnEmptyInsert : false in the query context to allow empty inserts.", dataSource), Field{"dataSource", dataSource})
}

func lockPreempted() *Fault {
	f := newFault("InsertLockPreempted", fault.CategoryConflict, "Lock preempted while trying to ingest the data. This can occur if there are higher "+
		"priority tasks, such as real-time ingestion, running on the same time chunks.")
	f.cause = ErrPreempted
	return f
}

func timeNull() *Fault {
	return newFault("InsertTimeNull", fault.CategoryInvalidInput, "Null timestamp (__time) encountered during INSERT or REPLACE.")
}

func timeOutOfBounds(chunk chrono.Interval, bounds []chrono.Interval) *Fault {
	texts := make([]string, len(bounds))
	for i, b := range bounds {
		texts[i] = b.String()
	}
	return newFault("InsertTimeOutOfBounds", fault.CategoryInvalidInput, fmt.Sprintf("Inserted data contains time chunk[%s] outside of bounds specified "+
		"by OVERWRITE WHERE[[%s]]. If you want to include this data, expand your OVERWRITE WHERE. If you do not want to include this data, use "+
		"SELECT ... WHERE to filter it from your inserted data.", chunk, strings.Join(texts, ", ")),
		Field{"interval", chunk.String()}, Field{"intervalBounds", texts})
}

func timeBeyondEternity(at int64) *Fault {
	text := chrono.FormatMillis(at, chrono.UTC)
	return newFault("InsertTimeOutOfBounds", fault.CategoryInvalidInput, fmt.Sprintf("Inserted data contains a row whose time [%s], [%d] milliseconds, is "+
		"outside of the bounds of all time [%s]. Check the unit of the numbers that times are made of, or use SELECT ... WHERE to filter the row from your "+
		"inserted data.", text, at, chrono.Eternity),
		Field{"interval", text}, Field{"intervalBounds", []string{chrono.Eternity.String()}})
}

func invalidNullByte(e *ingest.NullByteError) *Fault {
	return newFault("InvalidNullByte", fault.CategoryInvalidInput, e.Error(), Field{"source", e.Source}, Field{"rowNumber", e.RowNumber},
		Field{"column", e.Column}, Field{"value", e.Value}, Field{"position", e.Position})
}

func rowTooLarge(limit int64) *Fault {
	return newFault("RowTooLarge", fault.CategoryInvalidInput, fmt.Sprintf("Encountered row that cannot fit in a single frame (max frame size = %s). "+
		"Reduce your row size or increase the context parameter[maxFrameSize].", thousands(limit)), Field{"maxFrameSize", limit})
}

func tooManyBuckets() *Fault {
	return newFault("TooManyBuckets", fault.CategoryInvalidInput, fmt.Sprintf("Too many partition buckets (max = %s); try breaking your query up into "+
		"smaller queries or using a wider PARTITIONED BY", thousands(maxBuckets)), Field{"maxBuckets", maxBuckets})
}

func tooManyClusteredBy(columns, limit int, stage string) *Fault {
	return newFault("TooManyClusteredByColumns", fault.CategoryInvalidInput, fmt.Sprintf("Too many cluster by columns present in stage [%s] "+
		"(requested = %d, max = %d)", stage, columns, limit), Field{"numColumns", columns}, Field{"maxColumns", limit}, Field{"stage", stage})
}

func tooManyColumns(columns int) *Fault {
	return newFault("TooManyColumns", fault.CategoryInvalidInput, fmt.Sprintf("Too many output columns (requested = %d, max = %d)", columns, maxColumns),
		Field{"numColumns", columns}, Field{"maxColumns", maxColumns})
}

func tooManyInputFiles(o *Options, files, workers int) *Fault {
	limit := o.MaxInputFiles
	message := fmt.Sprintf("Too many input files/segments [%d] encountered. Maximum input files/segments per worker is set to [%d]. Try increasing the "+
		"limit using the maxInputFilesPerWorker query context parameter, breaking your query up into smaller queries, or setting [maxNumTasks] to at "+
		"least [%d] in your query context", files, limit, workers+1)
	if o.Native {
		message = fmt.Sprintf("Too many input files/segments [%d] encountered. The context of the task sets [maxInputFilesPerWorker] to [%d]. Increase or "+
			"remove it, or set [maxNumConcurrentSubTasks] in the [tuningConfig] to at least [%d]", files, limit, workers)
	}
	return newFault("TooManyInputFiles", fault.CategoryInvalidInput, message,
		Field{"numInputFiles", files}, Field{"maxInputFiles", limit}, Field{"minNumWorkers", workers})
}

func tooManyPartitions(o *Options) *Fault {
	limit := o.MaxPartitions
	message := fmt.Sprintf("Too many partitions (max = %d). Try increasing the limit using the maxPartitions query context parameter, breaking your query up "+
		"into smaller queries, or using a larger value for rowsPerSegment.", limit)
	if o.Native {
		message = fmt.Sprintf("Too many partitions (max = %d). Increase or remove [maxPartitions] in the context of the task, or use a larger value for "+
			"[maxRowsPerSegment] in the [partitionsSpec].", limit)
	}
	return newFault("TooManyPartitions", fault.CategoryInvalidInput, message, Field{"maxPartitions", limit})
}

func tooManySegments(chunk chrono.Interval, segments, limit int, granularity string) *Fault {
	return newFault("TooManySegmentsInTimeChunk", fault.CategoryInvalidInput, fmt.Sprintf("Too many segments requested to be generated in time chunk[%s] "+
		"with granularity[%s] (requested = [%s], maximum = [%s]). Please try breaking up your query or change the maximum using the query context "+
		"parameter[maxNumSegments].", chunk, granularity, thousands(int64(segments)), thousands(int64(limit))),
		Field{"timeChunk", chunk.String()}, Field{"numSegments", segments}, Field{"maxNumSegments", limit}, Field{"segmentGranularity", granularity})
}

func tooManyWarnings(limit int64, code string) *Fault {
	return newFault("TooManyWarnings", fault.CategoryInvalidInput, fmt.Sprintf("Too many warnings of type %s generated (max = %d)", code, limit),
		Field{"maxWarnings", limit}, Field{"rootErrorCode", code})
}

func tooManyWorkers(workers int) *Fault {
	return newFault("TooManyWorkers", fault.CategoryInvalidInput, fmt.Sprintf("Too many workers (current = %d; max = %d)", workers, maxWorkers),
		Field{"workers", workers}, Field{"maxWorkers", maxWorkers})
}

func tooManyWorkerAttempts(limit int, task string, worker int, reason string) *Fault {
	return newFault("TooManyAttemptsForWorker", fault.CategoryRuntimeFailure, fmt.Sprintf("Worker[%d] exceeded max relaunch count of %d for task[%s]. "+
		"Latest failure reason: %s.", worker, limit, task, reason), Field{"maxPerWorkerRelaunchCount", limit}, Field{"taskId", task},
		Field{"workerNumber", worker}, Field{"rootErrorMessage", reason})
}

func tooManyJobAttempts(limit, count int, task, reason string) *Fault {
	return newFault("TooManyAttemptsForJob", fault.CategoryRuntimeFailure, fmt.Sprintf("Total relaunch count across all workers %d exceeded max relaunch "+
		"limit %d . Latest task[%s] failure reason: %s", count, limit, task, reason), Field{"maxRelaunchCount", limit},
		Field{"currentRelaunchCount", count}, Field{"taskId", task}, Field{"rootErrorMessage", reason})
}

func tooManyRowsInWindow(rows, limit int) *Fault {
	return newFault("TooManyRowsInAWindow", fault.CategoryInvalidInput, fmt.Sprintf("Too many rows in a window (requested = %d, max = %d). Try creating a "+
		"window with a higher cardinality column or change the query shape.", rows, limit), Field{"numRows", rows}, Field{"maxRows", limit})
}

func durableStorageConfiguration(reason string) *Fault {
	return newFault("DurableStorageConfiguration", fault.CategoryInvalidInput, "Durable storage mode can only be enabled when "+
		"service.msq.intermediate.storage.enable is set to true and the connector is configured correctly. Check the documentation on how to enable durable "+
		"storage mode. If you want to still query without durable storage mode, set durableShuffleStorage to false in the query context. Got error "+reason,
		Field{"message", reason})
}

// overBudget is the fault of a job that needs more memory or disk than there is. What it says of
// the server is added by the controller.
func overBudget(e *budget.Exceeded, cause error) *Fault {
	f := newFault("NotEnoughMemory", fault.CategoryCapacityExceeded, "", Field{"suggestedServerMemory", e.Needed}, Field{"serverMemory", e.Limit},
		Field{"usableMemory", e.Limit})
	if e.Disk {
		f = newFault("NotEnoughTemporaryStorageFault", fault.CategoryCapacityExceeded, fmt.Sprintf("Not enough temporary storage space for intermediate files. "+
			"Requires at least %s bytes. (configured = %s bytes). Increase service.spill.limit, or set durableShuffleStorage to true in the query context.",
			thousands(e.Needed), thousands(e.Limit)), Field{"suggestedMinimumStorage", e.Needed}, Field{"configuredTemporaryStorage", e.Limit})
	}
	f.cause, f.Trace = cause, cause.Error()
	return f
}

// withServer completes a fault that tells of the server.
func (c *Controller) withServer(f *Fault) *Fault {
	var e *budget.Exceeded
	if f.Code != "NotEnoughMemory" || !errors.As(f.cause, &e) {
		return f
	}
	out := *f
	out.Fields = append(slices.Clone(f.Fields), Field{"serverWorkers", 1}, Field{"serverThreads", c.threads}, Field{"inputWorkers", c.workers},
		Field{"maxConcurrentStages", c.opts.ConcurrentStages})
	out.Message = fmt.Sprintf("Not enough memory. Minimum bytes[%s] is needed for the current configuration. (total bytes[%s]; usable bytes[%s]; input workers[%d]; "+
		"concurrent stages[%d]; server worker capacity[%d]; server processing threads[%d]). Increase service.memory.limit, or use fewer workers, concurrent "+
		"stages or threads.", thousands(e.Needed), thousands(e.Limit), thousands(e.Limit), c.workers, c.opts.ConcurrentStages, 1, c.threads)
	return &out
}

// because returns f with the failure that led to it.
func (f *Fault) because(cause *Fault) *Fault {
	f.cause, f.Trace = cause, cause.Trace
	return f
}

func queryNotSupported() *Fault { return newFault("QueryNotSupported", fault.CategoryInvalidInput, "") }

// toFault maps whatever ended a job to its root cause: an explicit fault first, then what is known
// of data, then a cancellation, then the first structured error, then UnknownError.
func toFault(ctx context.Context, err error) *Fault {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f
	}
	var parse *ingest.ParseError
	var null *ingest.NullByteError
	var long *window.RowsError
	var exceeded *budget.Exceeded
	switch {
	case errors.As(err, &exceeded):
		return overBudget(exceeded, err)
	case errors.As(err, &long):
		return tooManyRowsInWindow(long.Rows, long.Max)
	case errors.As(err, &parse):
		return cannotParse(parse)
	case errors.As(err, &null):
		return invalidNullByte(null)
	case errors.Is(err, ErrPreempted):
		return lockPreempted()
	}
	if ctx.Err() != nil {
		switch cause := context.Cause(ctx); {
		case errors.Is(cause, ErrShutdown):
			return canceled(ReasonShutdown)
		case errors.Is(cause, ErrUserRequest):
			return canceled(ReasonUserRequest)
		case errors.Is(cause, ErrTimeout), errors.Is(cause, context.DeadlineExceeded):
			return canceled(ReasonTimeout)
		}
	}
	if e := fault.Find(err); e != nil {
		return structuredFault(e)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return canceled(ReasonUnknown)
	}
	return unknownError(fault.CategoryUncategorized, fault.Words(err), err)
}

// unknownError is a failure that has no code of its own: its message says what happened.
func unknownError(category fault.Category, message string, cause error) *Fault {
	f := newFault("UnknownError", category, message, Field{"message", message})
	f.cause = cause
	return f
}

// structuredFault carries a fault of another layer. Where the data or their source are at fault,
// which the layers below say in words only, that is the code which clients of Druid know it by. See
// quirk Q011.
func structuredFault(e *fault.Error) *Fault {
	known := len(e.Context) > 0 && !(e.Legacy == "" && e.Context["sourceType"] == "sql") // more than the place of the call that rows failed in
	if e.Category == fault.CategoryInvalidInput && e.Code == "invalidInput" && !known {
		f := unknownError(e.Category, e.Message, e)
		if e.Unwrap() != nil {
			f.Trace = e.Error()
		}
		return f
	}
	f := newFault("DruidException", e.Category, e.Message, Field{"druidErrorCode", e.Code}, Field{"persona", string(e.Persona)},
		Field{"category", string(e.Category)})
	if len(e.Context) > 0 {
		f.Fields = append(f.Fields, Field{"context", e.Context})
	}
	f.persona = e.Persona
	f.cause = e
	if e.Unwrap() != nil {
		f.Trace = e.Error()
	}
	return f
}

// thousands prints n with commas.
func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
