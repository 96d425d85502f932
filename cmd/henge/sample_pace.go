package main

import (
	"context"
	"io"
	"math"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

// Limits of events that are printed as they happen.
const (
	// samplePause is the longest time for which an event that has happened is held back.
	samplePause = 10 * time.Millisecond
	// maxSampleWrite bounds what is written at once where the reader is slower than the rate.
	maxSampleWrite = 1 << 20
)

// paceSample prints events as they happen, evenly spaced, until there are enough or ctx is done,
// which is how a stream without end ends. Event i happens i/rate seconds after the first one. A
// reader that is slow for some time gets the events of that time afterwards.
func paceSample(ctx context.Context, w io.Writer, c clock.Clock, o sampleOptions) error {
	if !(o.rate > 0) || math.IsInf(o.rate, 0) {
		return fault.InvalidInput("Rate [%v] must be a positive number of events per second", o.rate)
	}
	s := newSampler(o.seed)
	began := c.Now()
	happens := func(i int64) time.Duration {
		return time.Duration(min(float64(i)/o.rate*float64(time.Second), math.MaxInt64/2))
	}
	var text []byte
	for i := int64(0); i < o.rows; {
		elapsed := c.Now().Sub(began)
		for text = text[:0]; i < o.rows && happens(i) <= elapsed && len(text) < maxSampleWrite; i++ {
			text = s.append(text, began.Add(happens(i)).UnixMilli())
		}
		if len(text) > 0 {
			if _, err := w.Write(text); err != nil {
				return err
			}
		}
		if i < o.rows && len(text) < maxSampleWrite {
			elapsed = c.Now().Sub(began)
			if c.Sleep(ctx, max(happens(i)-elapsed, samplePause)) != nil {
				return nil
			}
		} else if ctx.Err() != nil {
			return nil
		}
	}
	return nil
}
