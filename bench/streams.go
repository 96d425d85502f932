package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// streams measures what docs/figures.md says of streams: a real Kafka and the server on this
// machine, the producer in this process. Each part has a server and topics of its own.
type streams struct {
	*measurement
	address string
	client  *kgo.Client
	rows    int64 // of the backlog
	lines   []string
}

func (m *measurement) streams(ctx context.Context, rows int64, into string, stdout io.Writer) error {
	kafka := exec.CommandContext(ctx, "go", "run", "-C", "..", "./internal/testkit/kafkaserver/serve")
	kafka.Stderr = m.log
	hold, err := kafka.StdinPipe()
	if err != nil {
		return err
	}
	out, err := kafka.StdoutPipe()
	if err != nil {
		return err
	}
	if err := kafka.Start(); err != nil {
		return err
	}
	defer func() {
		_ = hold.Close() // it ends by that
		_ = kafka.Wait()
	}()
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return fmt.Errorf("starting Kafka: %w", err)
	}
	s := &streams{measurement: m, address: strings.TrimSpace(address), rows: rows}
	if s.client, err = kgo.NewClient(kgo.SeedBrokers(s.address), kgo.ProducerLinger(0), kgo.MaxBufferedRecords(200_000),
		kgo.UnknownTopicRetries(100)); err != nil {
		return err
	}
	defer s.client.Close()
	if s.lines, err = linesOf(m.sample); err != nil {
		return err
	}
	figures := newReport("streams")
	var table []row
	for _, part := range []struct {
		name string
		f    func(context.Context) ([]row, error)
	}{
		{"freshness", s.freshness}, {"first row", s.firstRow}, {"rows per core", s.perCore}, {"rollover", s.rollover}, {"kill", s.killed},
		{"backlog", s.backlog}, {"many", s.many},
	} {
		fmt.Fprintf(m.log, "%s: load %s\n", part.name, load())
		limited, cancel := context.WithTimeout(ctx, 10*time.Minute)
		rows, err := part.f(limited)
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		table = append(table, rows...)
		for _, r := range rows {
			fmt.Fprintf(m.log, "  %s: %s\n", r.what, r.value)
		}
	}
	figures.beside = ", Kafka 3.9 and the producer on the same machine"
	return figures.write(table, into, stdout)
}

func linesOf(path string) (lines []string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	in, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		lines = append(lines, scan.Text())
	}
	return lines, scan.Err()
}

func (s *streams) topic(ctx context.Context, name string, partitions int) error {
	_, err := kadm.NewClient(s.client).CreateTopic(ctx, int32(partitions), 1, nil, name)
	return err
}

const idSchema = `"timestampSpec":{"column":"t","format":"millis"},"dimensionsSpec":{"dimensions":[{"type":"long","name":"id"}]},
	"granularitySpec":{"segmentGranularity":"day","rollup":false}`

// supervise makes a supervisor whose datasource has the name of its topic.
func (s *streams) supervise(ctx context.Context, at *server, name, schema, io, tuning string) error {
	text := fmt.Sprintf(`{"type":"kafka","spec":{"dataSchema":{"dataSource":"%s",%s},"ioConfig":{"topic":"%s","inputFormat":{"type":"json"},
		"consumerProperties":{"bootstrap.servers":"%s"},"useEarliestOffset":true,"startDelay":"PT0.1S","period":"PT1S"%s},
		"tuningConfig":{"type":"kafka"%s}}}`, name, schema, name, s.address, io, tuning)
	return s.post(ctx, at, "/service/indexer/v1/supervisor", text, nil)
}

func (s *streams) post(ctx context.Context, at *server, path, body string, into any) error {
	return at.call(ctx, http.MethodPost, path, json.RawMessage(body), into)
}

// count returns the one number that a query gives; -1: there is no answer.
func (s *streams) count(ctx context.Context, at *server, sql string) int64 {
	body, _ := json.Marshal(map[string]any{"query": sql, "resultFormat": "array"}) // texts
	var rows [][]json.Number
	if err := s.post(ctx, at, "/service/v2/sql", string(body), &rows); err != nil || len(rows) != 1 {
		return -1
	}
	n, err := rows[0][0].Int64()
	if err != nil {
		return -1
	}
	return n
}

// until waits for a number of rows.
func (s *streams) until(ctx context.Context, at *server, name string, rows int64, every time.Duration) error {
	for {
		if s.count(ctx, at, "SELECT COUNT(*) FROM "+name) >= rows {
			return nil
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// rowOf is a record of about 60 bytes.
func rowOf(topic string, id int64) *kgo.Record {
	return &kgo.Record{Topic: topic, Value: fmt.Appendf(nil, `{"t":%d,"id":%d}`, 1_760_000_000_000+id, id)}
}

// produce writes n rows as fast as it goes.
func (s *streams) produce(ctx context.Context, n int64, row func(int64) *kgo.Record) error {
	var failed atomic.Value
	for i := range n {
		s.client.Produce(ctx, row(i), func(_ *kgo.Record, err error) {
			if err != nil {
				failed.Store(err)
			}
		})
	}
	err := s.client.Flush(ctx)
	if f := failed.Load(); f != nil {
		err = errors.Join(err, f.(error))
	}
	return err
}

func spread(list []time.Duration) (median, high time.Duration) {
	slices.Sort(list)
	return list[len(list)/2], list[len(list)*99/100]
}

func millis(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 1, 64) + " ms"
}

// freshness measures from before a row is produced until an answer has it, at several rates of
// other rows, with one more client that asks a query that groups.
func (s *streams) freshness(ctx context.Context) (out []row, err error) {
	for _, rate := range []int{0, 1_000, 10_000, 30_000} {
		name := fmt.Sprint("fresh", rate)
		if err := s.topic(ctx, name, 1); err != nil {
			return nil, err
		}
		var times []time.Duration
		err := s.withServer(ctx, func(at *server) error {
			if err := s.supervise(ctx, at, name, idSchema, "", ""); err != nil {
				return err
			}
			if err := s.produce(ctx, 1, func(int64) *kgo.Record { return rowOf(name, -1) }); err != nil {
				return err
			}
			if err := s.until(ctx, at, name, 1, 10*time.Millisecond); err != nil {
				return err
			}
			busy, stop := context.WithCancel(ctx)
			var beside sync.WaitGroup
			defer beside.Wait()
			defer stop()
			if rate > 0 {
				beside.Go(func() { s.flow(busy, name, rate) })
				beside.Go(func() {
					for busy.Err() == nil {
						s.count(busy, at, "SELECT COUNT(*) FROM (SELECT MOD(id, 1000) AS k, COUNT(*) AS n FROM "+name+" GROUP BY 1)")
					}
				})
			}
			for i := range 150 {
				id := int64(1_000_000_000_000 + i)
				began := time.Now()
				if err := s.client.ProduceSync(ctx, rowOf(name, id)).FirstErr(); err != nil {
					return err
				}
				for s.count(ctx, at, fmt.Sprintf("SELECT COUNT(*) FROM %s WHERE id = %d", name, id)) != 1 {
					if ctx.Err() != nil {
						return context.Cause(ctx)
					}
				}
				times = append(times, time.Since(began))
				time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		median, high := spread(times)
		what := "from produced to visible in SQL, idle"
		how := "150 rows, one at a time; a client polls for the row, and the time of its requests is included"
		if rate > 0 {
			what = fmt.Sprintf("the same at %d rows a second, with queries", rate)
			how = "meanwhile other rows are produced at that rate, and one client repeats a GROUP BY over all rows"
		}
		out = append(out, row{what, fmt.Sprintf("median %s, p99 %s", millis(median), millis(high)), "20 ms, 50 ms", how})
	}
	return out, nil
}

// flow produces rows at a rate until ctx is done.
func (s *streams) flow(ctx context.Context, name string, rate int) (produced int64) {
	began := time.Now()
	for ctx.Err() == nil {
		due := int64(time.Since(began).Seconds() * float64(rate))
		for ; produced < due; produced++ {
			s.client.Produce(ctx, rowOf(name, produced), nil)
		}
		time.Sleep(2 * time.Millisecond)
	}
	return produced
}

// firstRow measures from the production of a topic's first row until the table can be asked.
func (s *streams) firstRow(ctx context.Context) (out []row, err error) {
	var times []time.Duration
	err = s.withServer(ctx, func(at *server) error {
		for i := range 7 {
			name := fmt.Sprint("first", i)
			if err := s.topic(ctx, name, 1); err != nil {
				return err
			}
			if err := s.supervise(ctx, at, name, idSchema, "", ""); err != nil {
				return err
			}
			for reads := false; !reads; time.Sleep(50 * time.Millisecond) {
				reads = s.count(ctx, at, "SELECT COUNT(*) FROM sys.tasks WHERE datasource = '"+name+"' AND runner_status = 'RUNNING'") == 1
			}
			time.Sleep(500 * time.Millisecond)
			began := time.Now()
			if err := s.client.ProduceSync(ctx, rowOf(name, 1)).FirstErr(); err != nil {
				return err
			}
			if err := s.until(ctx, at, name, 1, time.Millisecond); err != nil {
				return err
			}
			times = append(times, time.Since(began))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	median, _ := spread(times)
	return []row{{"first row of a new table", fmt.Sprintf("median %s, worst %s", millis(median), millis(times[len(times)-1])), "300 ms",
		"7 tables whose task is already reading"}}, nil
}

// used returns the processor time and the largest memory of a process.
func used(pid int) (cpu time.Duration, peak int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil {
		f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		user, _ := strconv.ParseInt(f[11], 10, 64)
		system, _ := strconv.ParseInt(f[12], 10, 64)
		cpu = time.Duration(user+system) * 10 * time.Millisecond
	}
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // 0 without it
	if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
		peak, _ = strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	}
	return cpu, peak << 10
}

// wide is a row of 30 dimensions of few values and 19 numbers.
func wide(id int64) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"time":%d`, 1_760_000_000_000+id%3_600_000)
	for d := range 30 {
		fmt.Fprintf(&b, `,"d%d":"v%d"`, d, (id*int64(d+1)/7)%(int64(d)/10+2))
	}
	for m := range 19 {
		fmt.Fprintf(&b, `,"m%d":%d`, m, id%int64(100+m))
	}
	return b.String() + "}"
}

// perCore compares rows a second of processor time: from a topic, and from a file of the same rows.
func (s *streams) perCore(ctx context.Context) (out []row, err error) {
	var dims, metrics []string
	for d := range 30 {
		dims = append(dims, fmt.Sprintf(`"d%d"`, d))
	}
	for m := range 19 {
		metrics = append(metrics, fmt.Sprintf(`{"type":"longSum","name":"m%d","fieldName":"m%d"}`, m, m))
	}
	for _, o := range []struct {
		what, name, schema string
		rows               int64
		row                func(int64) string
	}{
		{"wiki rows", "wiki", `"timestampSpec":{"column":"time","format":"iso"},"dimensionsSpec":{"useSchemaDiscovery":true},
			"granularitySpec":{"segmentGranularity":"day","rollup":false}`, 5 * int64(len(s.lines)),
			func(i int64) string { return s.lines[i%int64(len(s.lines))] }},
		{"30 dimensions, 19 sums, rollup by minute", "wide",
			`"timestampSpec":{"column":"time","format":"millis"},"dimensionsSpec":{"dimensions":[` +
				strings.Join(dims, ",") + `]},"metricsSpec":[` + strings.Join(metrics, ",") +
				`],"granularitySpec":{"segmentGranularity":"day","queryGranularity":"minute","rollup":true}`, 100_000, wide},
	} {
		if err := s.topic(ctx, o.name, 1); err != nil {
			return nil, err
		}
		if err := s.produce(ctx, o.rows, func(i int64) *kgo.Record { return &kgo.Record{Topic: o.name, Value: []byte(o.row(i))} }); err != nil {
			return nil, err
		}
		stream, wall, err := s.read(ctx, o.name, o.schema, o.rows)
		if err != nil {
			return nil, err
		}
		batch, err := s.batch(ctx, o.name, o.schema, o.rows, o.row)
		if err != nil {
			return nil, err
		}
		perStream, perBatch := float64(o.rows)/stream.Seconds(), float64(o.rows)/batch.Seconds()
		out = append(out, row{"rows a second and core, " + o.what, fmt.Sprintf("%.0f; %.0f %% of our batch load (%.0f)", perStream,
			100*perStream/perBatch, perBatch),
			"80 % of batch",
			fmt.Sprintf("%d rows, by processor time of the server until all are read; it took %.1f s. "+
				"The batch load also writes its segments", o.rows, wall.Seconds())})
	}
	return out, nil
}

// read returns the processor time that it takes until all rows of a topic were read.
func (s *streams) read(ctx context.Context, name, schema string, rows int64) (cpu, wall time.Duration, err error) {
	err = s.withServer(ctx, func(at *server) error {
		before, _ := used(at.cmd.Process.Pid)
		began := time.Now()
		if err := s.supervise(ctx, at, name, schema, "", ""); err != nil {
			return err
		}
		for {
			var stats map[string]map[string]struct {
				Totals struct {
					BuildSegments struct{ Processed, ProcessedWithError float64 }
				}
			}
			if err := s.get(ctx, at, "/service/indexer/v1/supervisor/"+name+"/stats", &stats); err != nil {
				return err
			}
			done := 0.0
			for _, tasks := range stats {
				for _, t := range tasks {
					done += t.Totals.BuildSegments.Processed + t.Totals.BuildSegments.ProcessedWithError
				}
			}
			if int64(done) >= rows {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		after, _ := used(at.cmd.Process.Pid)
		cpu, wall = after-before, time.Since(began)
		return nil
	})
	return cpu, wall, err
}

func (s *streams) get(ctx context.Context, at *server, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.router+path, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %d", path, resp.StatusCode)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// batch returns the processor time of a native load of the same rows.
func (s *streams) batch(ctx context.Context, name, schema string, rows int64, row func(int64) string) (cpu time.Duration, err error) {
	dir, err := os.MkdirTemp(s.dir, "henge-rows-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "rows.json")
	file, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	buffered := bufio.NewWriter(file)
	for i := range rows {
		fmt.Fprintln(buffered, row(i))
	}
	if err := errors.Join(buffered.Flush(), file.Close()); err != nil {
		return 0, err
	}
	err = s.withServer(ctx, func(at *server) error {
		before, _ := used(at.cmd.Process.Pid)
		var task struct{ Task string }
		spec := fmt.Sprintf(`{"type":"index_parallel","spec":{"dataSchema":{"dataSource":"%s",%s},"ioConfig":{"type":"index_parallel",
			"inputSource":{"type":"local","files":["%s"]},"inputFormat":{"type":"json"}},
			"tuningConfig":{"type":"index_parallel"}}}`, name, schema, path)
		if err := s.post(ctx, at, "/service/indexer/v1/task", spec, &task); err != nil {
			return err
		}
		for {
			var status struct {
				Status struct {
					StatusCode string
					ErrorMsg   string
				}
			}
			if err := s.get(ctx, at, "/service/indexer/v1/task/"+task.Task+"/status", &status); err != nil {
				return err
			}
			if status.Status.StatusCode == "FAILED" {
				return errors.New(status.Status.ErrorMsg)
			}
			if status.Status.StatusCode == "SUCCESS" {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		after, _ := used(at.cmd.Process.Pid)
		cpu = after - before
		return nil
	}, "--set", "service.ingest.local.allowedPaths="+dir)
	return cpu, err
}

// rollover polls COUNT(*) while rows come and groups publish, by their time and when asked to.
func (s *streams) rollover(ctx context.Context) (out []row, err error) {
	const name, rate = "rolls", 1000
	if err := s.topic(ctx, name, 2); err != nil {
		return nil, err
	}
	var worst time.Duration
	dips, beyond, answers := 0, 0, 0
	err = s.withServer(ctx, func(at *server) error {
		if err := s.supervise(ctx, at, name, idSchema, `,"taskCount":2,"taskDuration":"PT5S"`, ""); err != nil {
			return err
		}
		var begun, acknowledged atomic.Int64
		flowing, stop := context.WithTimeout(ctx, 30*time.Second)
		defer stop()
		var mu sync.Mutex
		since := map[int64]time.Time{} // when so many were acknowledged
		var beside sync.WaitGroup
		beside.Go(func() {
			for flowing.Err() == nil {
				for range rate / 100 {
					s.client.Produce(ctx, rowOf(name, begun.Add(1)), func(_ *kgo.Record, err error) {
						if err == nil {
							mu.Lock()
							since[acknowledged.Add(1)] = time.Now()
							mu.Unlock()
						}
					})
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
		if err := s.until(ctx, at, name, 1, 10*time.Millisecond); err != nil {
			return err
		}
		last := int64(0)
		for flowing.Err() == nil {
			n := s.count(ctx, at, "SELECT COUNT(*) FROM "+name)
			if n < 0 {
				continue
			}
			answers++
			if n < last {
				dips++
			}
			if n > begun.Load() {
				beyond++
			}
			mu.Lock()
			if at, ok := since[n+1]; ok { // the oldest row that is not seen
				worst = max(worst, time.Since(at))
			}
			mu.Unlock()
			last = n
			time.Sleep(10 * time.Millisecond)
		}
		beside.Wait()
		return nil
	})
	return []row{{"rollover of two groups every 5 s, 1,000 rows a second",
		fmt.Sprintf("no row visible later than %s; %d answers, %d below the one before, %d above what was produced",
			millis(worst), answers, dips, beyond), "200 ms, no missing or duplicate rows", "30 s; COUNT(*) every 10 ms"}}, err
}

// killed measures how long after kill -9 all rows are in answers again.
func (s *streams) killed(ctx context.Context) (out []row, err error) {
	const name, rows = "killed", 200_000
	if err := s.topic(ctx, name, 2); err != nil {
		return nil, err
	}
	if err := s.produce(ctx, rows, func(i int64) *kgo.Record { return rowOf(name, i) }); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(s.dir, "henge-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	at, err := s.start(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, at.stop()) }()
	if err := s.supervise(ctx, at, name, idSchema, "", ""); err != nil {
		return nil, err
	}
	if err := s.until(ctx, at, name, rows, 20*time.Millisecond); err != nil {
		return nil, err
	}
	var times []time.Duration
	for range 3 {
		if err := at.kill(); err != nil {
			return nil, err
		}
		began := time.Now()
		if at, err = s.start(ctx, dir); err != nil {
			return nil, err
		}
		if err := s.until(ctx, at, name, rows, 10*time.Millisecond); err != nil {
			return nil, err
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	return []row{{"kill -9 of the whole process, until all rows are visible again", fmt.Sprintf("median %.1f s, worst %.1f s",
		times[1].Seconds(), times[2].Seconds()),
		"every id once",
		"200,000 unpublished rows are read again; tests in test/e2e verify that each id counts once"}}, nil
}

// backlog reads very many rows with little memory.
func (s *streams) backlog(ctx context.Context) (out []row, err error) {
	const name = "backlog"
	if err := s.topic(ctx, name, 2); err != nil {
		return nil, err
	}
	if err := s.produce(ctx, s.rows, func(i int64) *kgo.Record { return rowOf(name, i) }); err != nil {
		return nil, err
	}
	var took time.Duration
	var peak int64
	var cpu time.Duration
	err = s.withServer(ctx, func(at *server) error {
		began := time.Now()
		if err := s.supervise(ctx, at, name, idSchema, `,"taskCount":2`, ""); err != nil {
			return err
		}
		if err := s.until(ctx, at, name, s.rows, 100*time.Millisecond); err != nil {
			return err
		}
		took = time.Since(began)
		cpu, peak = used(at.cmd.Process.Pid)
		return nil
	}, "--set", "service.memory.limit=512MiB")
	return []row{{fmt.Sprintf("backlog of %d rows", s.rows),
		fmt.Sprintf("%.0f rows a second, %.0f a core; %d MiB resident at most",
			float64(s.rows)/took.Seconds(), float64(s.rows)/cpu.Seconds(), peak>>20),
		"at the limit, within service.memory.limit",
		"two partitions, rows of some 40 bytes, service.memory.limit=512MiB, which counts buffers; " +
			"the process itself and mapped files come on top"}}, err
}

// many runs 50 supervisors over 200 partitions.
func (s *streams) many(ctx context.Context) (out []row, err error) {
	const supervisors = 50
	var peak int64
	var least, most time.Duration
	err = s.withServer(ctx, func(at *server) error {
		for i := range supervisors {
			name := fmt.Sprint("many", i)
			if err := s.topic(ctx, name, 4); err != nil {
				return err
			}
			if err := s.supervise(ctx, at, name, idSchema, "", ""); err != nil {
				return err
			}
		}
		if err := s.produce(ctx, supervisors*400, func(i int64) *kgo.Record { return rowOf(fmt.Sprint("many", i%supervisors), i) }); err != nil {
			return err
		}
		for i := range supervisors {
			if err := s.until(ctx, at, fmt.Sprint("many", i), 400, 50*time.Millisecond); err != nil {
				return err
			}
		}
		for i := range supervisors {
			name := fmt.Sprint("many", i)
			began := time.Now()
			if err := s.client.ProduceSync(ctx, rowOf(name, 1)).FirstErr(); err != nil {
				return err
			}
			if err := s.until(ctx, at, name, 401, 0); err != nil {
				return err
			}
			took := time.Since(began)
			if most = max(most, took); least == 0 || took < least {
				least = took
			}
		}
		_, peak = used(at.cmd.Process.Pid)
		return nil
	}, "--set", "service.worker.capacity=200")
	return []row{{"50 supervisors over 200 partitions in one process",
		fmt.Sprintf("%d MiB resident at most; a row of each is visible after %s to %s", peak>>20, millis(least), millis(most)),
		"1 GiB, even", "400 rows each, then one more row of each"}}, err
}

// load is the load average of the last minute.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg") // elsewhere there is none
	return strings.Fields(string(text) + " ?")[0]
}
