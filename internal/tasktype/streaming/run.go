package streaming

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/chat"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasktype"
	"github.com/hengedb/henge/internal/tasktype/streaming/intake"
)

// run is one run of a task.
//
//	read ── rows ──► chunks of sequences ── persist ──► disk
//	  │                      │
//	  └── sequences that were read ──► publishAll ──► handOff, one goroutine for each
//
// The goroutine that reads owns the fields that have no other owner. What fails anywhere ends all.
type run struct {
	o     *Options
	task  *task.Task
	job   *job
	log   *slog.Logger
	clock clock.Clock
	meter *obs.Meter

	// own is the context of the run, and fail ends it.
	own  context.Context
	fail context.CancelCauseFunc
	// wait counts the goroutines that the run waits for.
	wait sync.WaitGroup

	ctl     *control
	stats   *stats
	letters *letters
	source  stream.Source
	maker   Maker

	locks      lockUse
	persisting chan struct{}  // holds one while rows are written to disk
	closing    chan *sequence // sequences that were read

	open         []*chunk // of sequences that are read
	turn         int64    // counts appends
	batchRecords int
	maxBytes     int64
	lastPersist  time.Time
	lastCut      time.Time
	moved        int64 // by how much the bounds of times were moved on, in milliseconds
	rest         time.Duration
	asking       bool   // the task is paused since it asks for a checkpoint
	stuck        func() // ends the problem that the stream can't be read; nil: there is none
}

// maxUnpublished bounds the sequences that were read and wait for the publication of others.
const maxUnpublished = 64

// sequencesStage is the name of the record of the sequences of a task.
const sequencesStage = "stream/sequences"

func newRun(ctx context.Context, o *Options, t *task.Task, j *job) (*run, error) {
	r := &run{
		o: o, task: t, job: j, log: tasktype.TaskLog(ctx), clock: o.Clock, meter: o.Meter, stats: newStats(o.Clock.Now),
		persisting: make(chan struct{}, 1), closing: make(chan *sequence, maxUnpublished), batchRecords: maxRecords,
		lastPersist: o.Clock.Now(), lastCut: o.Clock.Now(), rest: firstRest, maxBytes: j.tuning.maxBytesInMemory,
	}
	if r.maxBytes <= 0 {
		if r.maxBytes = o.Memory.Limit() / 6; r.maxBytes <= 0 {
			r.maxBytes = math.MaxInt64
		}
	}
	r.own, r.fail = context.WithCancelCause(ctx)
	r.ctl = newControl(o.Clock, j.io.Sequence, func(a, b stream.Position) int { return r.source.Compare(a, b) })
	r.ctl.keep = r.keep
	bad := intake.ErrorOptions{Max: j.tuning.maxParseErrors, Saved: int64(j.tuning.savedParseErrors), Clock: o.Clock}
	if j.tuning.logParseErrors {
		bad.Log = r.log
	}
	var err error
	r.letters, err = newLetters(o.TempDir, bad)
	return r, err
}

// run runs the task. When it returns everything that it has begun is over.
func (r *run) run(ctx context.Context) error {
	r.ctl.enter(chat.Starting)
	var watching sync.WaitGroup
	watching.Go(r.watch)
	defer watching.Wait()
	err := r.work(r.own)
	if err != nil {
		r.fail(err)
		r.ctl.end()
	}
	r.wait.Wait()
	r.ctl.end()
	if r.own.Err() != nil {
		err = context.Cause(r.own)
	}
	r.fail(nil) // ends watch
	r.closeAll()
	if r.maker != nil {
		r.maker.Close()
	}
	if r.source != nil {
		_ = r.source.Close() // it was only read
	}
	return err
}

// watch ends the run when it is to forget what it read.
func (r *run) watch() {
	for {
		how, changed := r.ctl.stopped()
		if how == stopForget {
			r.fail(errStopped)
			return
		}
		select {
		case <-changed:
		case <-r.own.Done():
			return
		}
	}
}

// work reads and has published what it read.
func (r *run) work(ctx context.Context) error {
	var err error
	if r.source, err = r.connect(ctx); err != nil {
		return err
	}
	r.maker, err = r.o.Maker(MakerOptions{
		Schema: r.job.schema, Tuning: r.job.spec, IO: &r.job.io, OnBad: r.letters.Add, Name: "task " + r.task.ID,
	})
	if err != nil {
		return err
	}
	sequences, err := r.sequences(ctx)
	if err != nil || len(sequences) == 0 {
		return err
	}
	r.ctl.begin(sequences)
	r.wait.Go(func() {
		if err := r.publishAll(ctx); err != nil {
			r.fail(err)
		}
	})
	if err := r.read(ctx); err != nil {
		return err
	}
	r.ctl.enter(chat.Publishing)
	close(r.closing)
	return nil
}

// connect opens the stream, as soon as it can be reached.
func (r *run) connect(ctx context.Context) (stream.Source, error) {
	rest := firstRest
	for {
		source, err := r.o.Source(ctx, r.job.io.Stream)
		if err == nil {
			r.reached()
			return source, nil
		}
		if err := r.unreachable(ctx, err, &rest); err != nil {
			return nil, err
		}
	}
}

// sequences returns what is to be read: what an earlier run of the task has kept, else what its
// supervisor knows, without what is published.
func (r *run) sequences(ctx context.Context) ([]*sequence, error) {
	stages, err := r.o.Metastore.TaskStages(ctx, r.task.ID)
	if err != nil {
		return nil, err
	}
	list := openSequences(r.job.io.Sequence, r.job.io.Checkpoints, r.job.io.Ends)
	if text, ok := stages[sequencesStage]; ok {
		var cuts []cut
		if err := json.Unmarshal(text, &cuts); err != nil {
			return nil, fmt.Errorf("reading the sequences of task [%s]: %w", r.task.ID, err)
		}
		list = restore(r.job.io.Sequence, cuts)
	}
	offsets, _, err := r.o.Metastore.Offsets(ctx, r.job.supervisor)
	if err != nil {
		return nil, err
	}
	have, err := stream.ParseStored(offsets.Payload)
	if err != nil {
		return nil, err
	}
	list = unpublished(list, r.job.stored(have, r.job.io.Starts), r.source.Compare)
	if len(list) > 0 {
		if _, err := r.next(list[0], offsets.Payload); errors.Is(err, errBehind) {
			return nil, err // nothing that it reads could be published
		}
	}
	return list, nil
}

// keep notes the sequences for another run of the task.
func (r *run) keep(_ context.Context, cuts []cut) error {
	text, err := json.Marshal(cuts)
	if err != nil {
		return err
	}
	return r.o.Metastore.PutTaskStage(r.own, metastore.Fence{}, r.task.ID, sequencesStage, text)
}

// closeAll serves nothing any longer.
func (r *run) closeAll() {
	for _, s := range r.ctl.everything() {
		for _, c := range s.chunks {
			r.close(c)
		}
	}
}

// Status implements chat.Task.
func (r *run) Status(context.Context) (chat.Status, error) { return r.ctl.Status(), nil }

// Pause implements chat.Task.
func (r *run) Pause(ctx context.Context) (stream.Positions, error) { return r.ctl.Pause(ctx) }

// Resume implements chat.Task.
func (r *run) Resume(context.Context) error {
	r.ctl.Resume()
	return nil
}

// SetEnds implements chat.Task.
func (r *run) SetEnds(ctx context.Context, ends stream.Positions, finish bool) error {
	return r.ctl.SetEnds(ctx, ends, finish)
}

// Stop implements chat.Task.
func (r *run) Stop(_ context.Context, publish bool) error {
	r.ctl.Stop(publish)
	return nil
}

// Stats implements chat.Task.
func (r *run) Stats(context.Context) (chat.Stats, error) { return r.stats.snapshot(), nil }

// ParseErrors implements chat.Task.
func (r *run) ParseErrors(context.Context) ([]chat.ParseError, error) { return r.letters.Newest(), nil }
