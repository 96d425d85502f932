package broker_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/broker"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/timeline"
)

// stuck keeps whoever opens a segment, who holds a core.
type stuck struct {
	came  chan struct{}
	leave chan struct{}
}

func (s stuck) Acquire(context.Context, *timeline.Segment) (segment.Reader, error) {
	close(s.came)
	<-s.leave
	return nil, errors.New("it was stuck")
}

// Short statements are planned when it is their turn; long ones, which would keep others waiting,
// beside them.
func TestStatementsArePlannedInTheirTurn(t *testing.T) {
	published := timeline.NewPublished()
	err := published.Advance(1, timeline.Added(&timeline.Segment{
		ID:    timeline.SegmentID{DataSource: "days", Version: "1", Interval: chrono.Interval{End: dayMillis}},
		Shard: timeline.Numbered{}, Schema: timeline.NewSchema([]timeline.Column{{Name: "x", Type: "LONG"}}), Rows: 10, BinaryVersion: timeline.BinaryVersion,
	}))
	if err != nil {
		t.Fatal(err)
	}
	segments := stuck{make(chan struct{}), make(chan struct{})}
	b := broker.New(published, segments, nil, &broker.Externals{}, broker.Options{
		Memory: budget.Root(1 << 30), Clock: clock.System(), Log: slog.New(slog.DiscardHandler), Threads: 1,
	})
	ended := make(chan error)
	go func() {
		rows, err := b.Start(t.Context(), nil, &query.Request{SQL: "SELECT SUM(x) FROM days", Dialect: "service"})
		if err == nil {
			_, err = rows.Next(t.Context())
			rows.Close()
		}
		ended <- err
	}()
	<-segments.came
	start := func(statement string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := b.Start(ctx, nil, &query.Request{SQL: statement, Dialect: "service"})
		return err
	}
	const wrong = "SELECT nothing FROM days"
	if err := start(wrong); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a short statement, while all cores compute: %v", err)
	}
	if err := start(wrong + strings.Repeat(" ", 8<<10)); fault.Find(err) == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("a long statement, while all cores compute: %v", err)
	}
	close(segments.leave)
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "stuck") {
		t.Errorf("the query that was stuck: %v", err)
	}
	if active, pending := b.Load(); active != 0 || pending != 0 {
		t.Errorf("[%d] goroutines compute and [%d] wait when all is over", active, pending)
	}
	if err := start(wrong); fault.Find(err) == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("a short statement, while nobody computes: %v", err)
	}
}
