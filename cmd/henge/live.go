package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
)

// Limits of rows that are sent as they come.
const (
	// liveLinger is how long a row waits for others to be sent with it.
	liveLinger    = 10 * time.Millisecond
	liveBatchSize = 1 << 20
	liveBatchRows = 20_000
	// liveGrace is how long the input may still give rows after an interruption, which the program
	// at the other end of a pipe gets, too.
	liveGrace = 250 * time.Millisecond
	// liveEnding is how long what was read may take to be sent after an interruption.
	liveEnding = 10 * time.Second
	livePause  = 100 * time.Millisecond // before a request is sent again; doubles up to awayMost
)

// notLive are the flags of loads by a task.
var notLive = []string{"replace", "append", "dry-run", "partitioned-by", "column", "on-misfit"}

// runLive checks that the flags make sense for rows that are sent as they come, and sends them.
func (o *ingestOptions) runLive(ctx context.Context, args []string, changed func(string) bool) error {
	for _, name := range notLive {
		if changed(name) {
			return fault.InvalidInput("--%s is only for files that a task loads. With --live, rows are added as they arrive, "+
				"and columns are discovered", name)
		}
	}
	switch d := o.survey.Delimiter; {
	case len(args) != 1:
		return fault.InvalidInput("--live sends the rows of one input, a file or - for standard input, but [%d] are given. "+
			"To send several, run: cat FILE... | henge ingest - --into %s --live", len(args), o.into)
	case o.survey.Header != nil && !*o.survey.Header:
		return fault.InvalidInput("--live reads the names of the columns from the first row of CSV: --header=no is not supported. " +
			"Add a header, as in: (echo time,country; cat FILE) | henge ingest - --into DATASOURCE --live")
	case d != "" && d != "," && d != "\t":
		return fault.InvalidInput("--live sends rows whose fields are separated by commas or tabs, not by [%s]", d)
	case changed("channel") && o.channel == "":
		return fault.InvalidInput("The name of a --channel must not be empty")
	}
	in, name := o.in, "standard input"
	if args[0] != "-" {
		if strings.Contains(args[0], "://") {
			return fault.InvalidInput("--live reads a local file or standard input, not [%s]; "+
				"run: curl -sN URL | henge ingest - --into %s --live", record.Printable(args[0]), o.into)
		}
		info, err := os.Stat(args[0])
		if err == nil && info.IsDir() {
			return fault.InvalidInput("--live reads one file, and [%s] is a folder", record.Printable(args[0]))
		}
		f, err := os.Open(args[0])
		if err != nil {
			return fault.InvalidInput("File [%s] can't be read: %v", record.Printable(args[0]), reasonOf(err))
		}
		defer f.Close()
		in, name = f, record.Printable(args[0])
	}
	l := &liveLoad{o: o, clock: o.clock, w: o.err, name: name, given: o.channel != "", channel: cmp.Or(o.channel, newID()),
		rows: make(chan *liveRows, liveChunks), reader: &liveReader{in: in, delimiter: o.survey.Delimiter}}
	l.push = newPusher(o.client, o.clock, o.into, l.channel)
	for key, value := range map[string]string{"timeColumn": o.survey.Time, "timeFormat": o.survey.TimeFormat} {
		if value != "" {
			l.push.query.Set(key, value)
		}
	}
	if o.maxBad != 0 {
		l.push.query.Set("onError", "skip")
	}
	return l.run(ctx)
}

// liveLoad sends the rows of an input as they come.
//
// One request is on its way at a time: the server drops what is at or below the newest offset of
// the channel, so a request must not overtake another. A request whose fate is unknown is sent
// again as it was: other rows under its offset would be lost or count twice.
type liveLoad struct {
	o       *ingestOptions
	clock   clock.Clock
	w       io.Writer
	name    string
	push    *pusher
	channel string
	given   bool // the user named the channel
	reader  *liveReader
	rows    chan *liveRows

	// taken is how many rows of the input the server has; it left out skipped of them. The first
	// begins of them were there before; toSkip are next in the input, and the server has them.
	taken, skipped, begins, toSkip int64
	requests, repeated             int64
	progress                       liveProgress
	away                           time.Time // since when the server did not answer; zero: it does
	// interrupted is when the user ended the command before the input ended.
	interrupted bool
}

func (l *liveLoad) run(ctx context.Context) error {
	// What was read is sent also when the user interrupts the command, for which there is some time.
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		_ = l.clock.Sleep(sending, liveEnding) // it ends with the command
		cancel()
	})()
	if err := l.resume(sending); err != nil {
		return l.ended(err)
	}
	// Nothing waits for the reader after an interruption: a read of a terminal or pipe ends when
	// there is something to read.
	failed := make(chan error, 1)
	reading, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	go func() { failed <- l.reader.run(reading, l.rows) }()

	l.progress = newLiveProgress(l.w, l.clock)
	defer l.progress.stop()
	for more := true; more; {
		var batch *liveRows
		batch, more = l.gather(ctx)
		if batch.count() == 0 {
			continue
		}
		if err := l.send(sending, batch); err != nil {
			return l.ended(err)
		}
	}
	if l.interrupted {
		return l.ended(ctx.Err())
	}
	return l.ended(<-failed)
}

// resume learns which rows of the input the server has already.
func (l *liveLoad) resume(ctx context.Context) error {
	if !l.given {
		return nil
	}
	err := l.persist(ctx, func() (err error) {
		l.toSkip, err = l.push.committed(ctx)
		return err
	})
	if l.begins, l.taken = l.toSkip, l.toSkip; l.toSkip > 0 {
		fmt.Fprintf(l.w, "Channel [%s] has %s already: the same number of rows at the beginning of the input is skipped.\n", l.channel,
			counted(l.toSkip, "row"))
	}
	return err
}

// gather returns the next rows to send, and whether there may be more after them.
func (l *liveLoad) gather(ctx context.Context) (batch *liveRows, more bool) {
	batch = &liveRows{}
	interrupted := ctx.Done()
	var linger, grace <-chan time.Time
	for len(batch.text) < liveBatchSize && batch.count() < liveBatchRows {
		select {
		case rows, ok := <-l.rows:
			if !ok {
				return batch, false
			}
			skip := min(l.toSkip, rows.count())
			rows.drop(skip)
			if l.toSkip -= skip; rows.count() == 0 {
				continue
			}
			batch.addAll(rows)
			if linger == nil {
				timer := l.clock.NewTimer(liveLinger)
				defer timer.Stop()
				linger = timer.C()
			}
		case <-linger:
			return batch, true
		case <-l.progress.ticks():
			l.progress.show(l)
		case <-interrupted:
			timer := l.clock.NewTimer(liveGrace)
			defer timer.Stop()
			interrupted, grace = nil, timer.C()
		case <-grace:
			l.interrupted = true
			return batch, false
		}
	}
	return batch, true
}

// send sends rows until the server has them.
func (l *liveLoad) send(ctx context.Context, batch *liveRows) error {
	last := l.taken + batch.count()
	body := append(slices.Clip(l.reader.header), batch.text...)
	var answer *pushAnswer
	err := l.persist(ctx, func() (err error) {
		answer, err = l.push.send(ctx, l.reader.form, body, last)
		return err
	})
	if err != nil {
		return l.explain(err)
	}
	committed := last
	if n, ok := answer.Committed.rows(); ok {
		committed = n
	}
	switch {
	case committed < last:
		return fault.Defensive("The server reports [%d] rows of channel [%s], after it accepted row [%d]", committed, l.channel, last)
	case committed > last:
		// What an earlier run of the command had sent came in after this one asked for it.
		fmt.Fprintf(l.w, "Note: Channel [%s] has %s now; existing rows are skipped.\n", l.channel, counted(committed, "row"))
		l.toSkip += committed - last
	}
	l.taken = committed
	l.skipped += answer.Skipped
	l.requests++
	l.progress.acknowledged(answer)
	if l.o.maxBad > 0 && l.skipped > l.o.maxBad {
		return fault.InvalidInput("[%d] rows can't be read and were skipped; --max-parse-exceptions allows [%d]", l.skipped, l.o.maxBad)
	}
	return nil
}

// persist does something again and again while the server is away or full.
func (l *liveLoad) persist(ctx context.Context, do func() error) error {
	pause := livePause
	for {
		err := do()
		if err == nil {
			l.back()
			return nil
		}
		if ctx.Err() != nil {
			return fault.InvalidInput("The command was interrupted while the server did not respond")
		}
		refusal, answered := errors.AsType[*pushRefusal](err)
		if answered && !refusal.again() || !answered && !errors.Is(err, errNoServer) {
			return err
		}
		wait := pause
		pause = min(2*pause, awayMost)
		if answered {
			wait = max(wait, refusal.after)
		}
		full := answered && refusal.status == http.StatusTooManyRequests
		if problem := l.lost(err, full); problem != nil {
			return problem
		}
		l.repeated++
		l.progress.show(l)
		if l.clock.Sleep(ctx, wait) != nil {
			return fault.InvalidInput("The command was interrupted while the server did not respond")
		}
	}
}

// lost notes that the server did not take a request. A server that is full answers, and is waited
// for without end; the writer of a pipe waits, too.
func (l *liveLoad) lost(err error, full bool) error {
	now := l.clock.Now()
	if l.away.IsZero() {
		l.away = now
		l.progress.line()
		fmt.Fprintf(l.w, "%s; trying again.\n", strings.TrimRight(messageOf(err), "."))
	}
	if full || now.Sub(l.away) < awayFor {
		return nil
	}
	return err
}

// back notes that the server answers.
func (l *liveLoad) back() {
	if !l.away.IsZero() {
		fmt.Fprintln(l.w, "The server accepts rows again.")
	}
	l.away = time.Time{}
}

// explain says where in the input a refused request begins, whose rows the server counts from 1.
func (l *liveLoad) explain(err error) error {
	refusal, ok := errors.AsType[*pushRefusal](err)
	if !ok || refusal.status != http.StatusBadRequest {
		return err
	}
	return fault.InvalidInput("%s. Row 1 of this request is row [%d] of the input; --max-parse-exceptions sets the number of rows that may "+
		"be skipped",
		strings.TrimRight(messageOf(err), "."), l.taken+1)
}

// ended prints the summary, and how to go on after an error.
func (l *liveLoad) ended(err error) error {
	l.progress.end(l)
	if err == nil {
		at := ""
		if l.o.client.base != defaultServer {
			at = " --server " + l.o.client.base
		}
		fmt.Fprintf(l.w, "Query it: henge sql%s -q 'SELECT COUNT(*) FROM %s'\n", at, quoteName(l.o.into))
		return nil
	}
	if l.taken > 0 || l.given {
		fmt.Fprintf(l.w, "The server has the first %s of the input. To send the rest of the same input, "+
			"run the command again with --channel %s\n", counted(l.taken, "row"), l.channel)
	}
	return err
}
