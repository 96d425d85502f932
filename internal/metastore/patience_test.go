package metastore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sync/errgroup"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/testkit/postgres"
)

func TestWhichFailuresPass(t *testing.T) {
	for code, passes := range map[string]bool{
		"57P01": true, "57P02": true, "57P03": true, "08006": true, "08P01": true, "53300": true, "40001": true, "40P01": true, "25006": true,
		"23505": false, "42601": false, "53100": false, "28P01": false, "57014": false,
	} {
		err := postgresDialect.explain(&pgconn.PgError{Code: code})
		if away(err) != passes {
			t.Errorf("code %s: %v", code, err)
		}
	}
	if away(storeClosed()) || !away(postgresDialect.explain(errors.New("broken pipe"))) {
		t.Error("a store that is closed is waited for, or a broken connection is not")
	}
}

// Operations of those who have time wait while the database is away, and each is done exactly once,
// also where its connection breaks while it commits. Those of others fail at once.
func TestThePatientWaitForTheDatabase(t *testing.T) {
	link := postgres.NewLink(t, postgresURL(t))
	s, err := Open(t.Context(), Options{URL: link.URL, Clock: clock.System()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	const seed, writers, each = 3, 4, 40
	r := rand.New(rand.NewPCG(seed, 0))
	stop := make(chan struct{})
	var written atomic.Int64
	var cutting errgroup.Group
	cutting.Go(func() error {
		for patience := 1; ; {
			select {
			case <-stop:
				link.Mend()
				return nil
			default:
			}
			before := written.Load()
			link.Cut()
			if err := s.clock.Sleep(context.Background(), time.Duration(20+r.IntN(60))*time.Millisecond); err != nil {
				return err
			}
			link.Mend()
			if err := s.clock.Sleep(context.Background(), time.Duration(patience*(20+r.IntN(60)))*time.Millisecond); err != nil {
				return err
			}
			// A busy machine may take longer to connect than the link stays whole.
			if patience *= 2; written.Load() > before {
				patience = 1
			}
		}
	})
	var g errgroup.Group
	bounded, cancelAll := context.WithTimeoutCause(t.Context(), 10*time.Minute, errors.New("the writers do not come through"))
	defer cancelAll()
	ctx := Patient(bounded)
	for w := range writers {
		g.Go(func() error {
			for range each {
				err := s.write(ctx, func(ctx context.Context, tx *tx) error {
					_, err := tx.counter(ctx, fmt.Sprint("test", w), 1)
					return err
				})
				if err != nil {
					return err
				}
				written.Add(1)
			}
			return nil
		})
	}
	err = g.Wait()
	close(stop)
	if err := errors.Join(err, cutting.Wait()); err != nil {
		t.Fatal(err)
	}
	for w := range writers {
		var value int64
		if err := s.read().row(ctx, []any{&value}, "SELECT value FROM counters WHERE name = ?", fmt.Sprint("test", w)); err != nil || value != each {
			t.Errorf("seed %d: writer %d has counted to [%d] instead of [%d], %v", seed, w, value, each, err)
		}
	}
	link.Cut()
	defer link.Mend()
	if _, err := s.Number(t.Context()); !away(err) {
		t.Errorf("who has no time: %v", err)
	}
	const little = 300 * time.Millisecond
	began := time.Now()
	short, cancel := context.WithTimeoutCause(ctx, little, fault.Timeout("The task ran out of time"))
	defer cancel()
	// The driver's own deadline is the same instant, and may be noticed first.
	if _, err := s.Number(short); err == nil || time.Since(began) < little*9/10 {
		t.Errorf("who has little time, after %s: %v", time.Since(began), err)
	}
}
