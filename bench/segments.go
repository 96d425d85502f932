package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	// restartLimit is what a server with ten thousand local segments promises to need until it is
	// ready, in milliseconds.
	restartLimit = 1000
	// firstLimit is what the first statement after that promises to need, in milliseconds.
	firstLimit = 50
	// appendLimit is how much more an append to a time chunk may cost where there are eight times as
	// many.
	appendLimit = 1.5
	// perLoad is how many time chunks one statement fills; the interface allows 5,000.
	perLoad = 2500
)

// segments loads so many segments of some rows, one an hour, and measures how soon a server that
// has all of them in its local files is there, after a stop and after kill -9, and how the cost of
// an append beside them grows with its time chunks.
func (m *measurement) segments(ctx context.Context, count int) ([]figure, error) {
	dir, err := os.MkdirTemp(m.dir, "henge-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s, err := m.start(ctx, dir)
	if err != nil {
		return nil, err
	}
	if err := s.hours(ctx, count); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	var out []figure
	for _, how := range []struct {
		name string
		end  func(*server) error
	}{{"a stop", (*server).stop}, {"kill -9", (*server).kill}} {
		var ready, cpu, first, firstCPU, selective, announced, answered []float64
		for range m.times {
			if err := how.end(s); err != nil {
				return nil, err
			}
			if s, err = m.start(ctx, dir); err != nil {
				return nil, err
			}
			ready = append(ready, milliseconds(s.readyAfter))
			computed, err := s.computed()
			if err != nil {
				return nil, errors.Join(err, s.stop())
			}
			cpu = append(cpu, milliseconds(computed))
			took, used, err := s.bounds(ctx, count)
			if err != nil {
				return nil, errors.Join(err, s.stop())
			}
			first, firstCPU = append(first, milliseconds(took)), append(firstCPU, milliseconds(used))
			if took, err = s.day(ctx, count/48); err != nil {
				return nil, errors.Join(err, s.stop())
			}
			selective = append(selective, milliseconds(took))
			if err := s.holds(ctx, count); err != nil {
				return nil, errors.Join(err, s.stop())
			}
			announced = append(announced, milliseconds(time.Since(s.began)))
			if err := s.sums(ctx, count); err != nil {
				return nil, errors.Join(err, s.stop())
			}
			answered = append(answered, milliseconds(time.Since(s.began)))
		}
		of := fmt.Sprintf("%d local segments after %s: ", count, how.name)
		out = append(out, newFigure(of+"ready", "ms", restartLimit, ready), newFigure(of+"cores have computed until then", "ms", restartLimit, cpu),
			newFigure(of+"first statement: MIN and MAX of __time and COUNT of all", "ms", firstLimit, first),
			newFigure(of+"cores have computed meanwhile", "ms", firstLimit, firstCPU),
			newFigure(of+"second statement: the sum of a day, of whose 24 segments none was opened", "ms", firstLimit, selective),
			newFigure(of+"all announced", "ms", restartLimit, announced),
			newFigure(of+"a sum over all rows answered", "ms", 5*restartLimit, answered))
	}
	appended, err := m.appends(ctx, s)
	return append(out, appended...), errors.Join(err, s.stop())
}

// appends measures how much more cores compute for an INSERT into many time chunks than for several
// into few: the cost of a chunk must not grow with their number, nor with that of the segments that
// are there.
func (m *measurement) appends(ctx context.Context, s *server) ([]figure, error) {
	const few, many = 500, 4000
	var grows []float64
	for i := range m.times {
		var spent [2]time.Duration
		for n, chunks := range []int{few, many} {
			before, err := s.computed()
			if err != nil {
				return nil, err
			}
			if err := s.insertHours(ctx, fmt.Sprintf("append%d_%d", i, chunks), 0, chunks); err != nil {
				return nil, err
			}
			after, err := s.computed()
			if err != nil {
				return nil, err
			}
			spent[n] = after - before
		}
		grows = append(grows, float64(spent[1])/float64(spent[0])/(many/few))
	}
	return []figure{newFigure(fmt.Sprintf("INSERT into %d hours against %d INSERTs into %d", many, many/few, few), "times", appendLimit, grows)}, nil
}

// computed is how long cores have computed for the process: what of its time is not for others that
// run beside it.
func (s *server) computed() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const user, system, tick = 11, 12, 10 * time.Millisecond // places behind the name, and the kernel's unit
	if len(fields) <= system {
		return 0, fmt.Errorf("/proc has %q of the server", text)
	}
	var ticks [2]int64
	for i, at := range []int{user, system} {
		if ticks[i], err = strconv.ParseInt(fields[at], 10, 64); err != nil {
			return 0, err
		}
	}
	return time.Duration(ticks[0]+ticks[1]) * tick, nil
}

// hours loads a segment of two rows for each of so many hours, and waits until all of them are in
// local files.
func (s *server) hours(ctx context.Context, count int) error {
	for from := 0; from < count; from += perLoad {
		if err := s.insertHours(ctx, "many", from, min(from+perLoad, count)); err != nil {
			return err
		}
	}
	return s.holds(ctx, count)
}

// insertHours appends two rows to each hour of a range.
func (s *server) insertHours(ctx context.Context, table string, from, to int) error {
	var rows strings.Builder
	for h := from; h < to; h++ {
		fmt.Fprintf(&rows, `{\"h\":%d,\"k\":\"a\"}\n{\"h\":%d,\"k\":\"b\"}\n`, h, h)
	}
	return s.ingest(ctx, `INSERT INTO `+table+` SELECT MILLIS_TO_TIMESTAMP(h * 3600000) AS __time, h, k FROM TABLE(EXTERN('{"type":"inline","data":"`+rows.String()+
		`"}', '{"type":"json"}')) EXTEND (h BIGINT, k VARCHAR) PARTITIONED BY HOUR`)
}

// holds waits until the server has announced so many segments.
func (s *server) holds(ctx context.Context, count int) error {
	for {
		rows, err := s.query(ctx, "SELECT COUNT(*) FROM sys.server_segments")
		if err != nil {
			return err
		}
		if fmt.Sprint(rows) == fmt.Sprintf("[[%d]]", count) {
			return nil
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// bounds asks for what is known of all segments, and returns how long that takes, and how long
// cores compute for the process meanwhile.
func (s *server) bounds(ctx context.Context, count int) (took, used time.Duration, err error) {
	before, err := s.computed()
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	rows, err := s.query(ctx, "SELECT COUNT(*), TIMESTAMP_TO_MILLIS(MIN(__time)), TIMESTAMP_TO_MILLIS(MAX(__time)) FROM many")
	took = time.Since(began)
	if want := fmt.Sprintf("[[%d 0 %d]]", 2*count, int64(count-1)*3600000); err == nil && fmt.Sprint(rows) != want {
		err = fmt.Errorf("the answer is %v, it should be %s", rows, want)
	}
	after, measuring := s.computed()
	return took, after - before, errors.Join(err, measuring)
}

// day asks for what needs a column of each segment of a day, and returns how long that takes.
func (s *server) day(ctx context.Context, day int) (time.Duration, error) {
	began := time.Now()
	rows, err := s.query(ctx, fmt.Sprintf("SELECT SUM(h) FROM many WHERE k = 'b' AND TIME_IN_INTERVAL(__time, '%s/P1D')",
		time.UnixMilli(0).UTC().AddDate(0, 0, day).Format(time.DateOnly)))
	took := time.Since(began)
	if want := fmt.Sprintf("[[%d]]", 24*24*day+24*23/2); err == nil && fmt.Sprint(rows) != want {
		err = fmt.Errorf("the answer is %v, it should be %s", rows, want)
	}
	return took, err
}

// sums asks for what needs a column of each segment.
func (s *server) sums(ctx context.Context, count int) error {
	rows, err := s.query(ctx, "SELECT COUNT(*), SUM(h) FROM many WHERE k = 'b'")
	if want := fmt.Sprintf("[[%d %d]]", count, count*(count-1)/2); err == nil && fmt.Sprint(rows) != want {
		err = fmt.Errorf("the answer is %v, it should be %s", rows, want)
	}
	return err
}
