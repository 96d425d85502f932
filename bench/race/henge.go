package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// henge is a server of its own on free ports with a data directory of its own, asked over HTTP as
// any client would.
type henge struct {
	server
	variant
	binary    string
	dir       string
	arguments []string
	threads   int
	cmd       *exec.Cmd
	// rules are the permissions of the user who queries.
	rules []any
	// liveTables are those of which rows are live.
	liveTables []string
}

// server is what answers the interface: Henge, or Druid.
type server struct {
	called  string
	product string // the first segment of paths
	base    string
	told    string
	http    *http.Client
	// login is the header by which requests say who sends them, asker that of queries; "": nobody.
	login, asker string
}

func newServer(called, product string) server {
	return server{called: called, product: product, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}}
}

var readyLine = regexp.MustCompile(`^henge (\S+) ready.*router (http://[^,\s]+)`)

func startHenge(ctx context.Context, v variant, binary, dir, memory string, threads int) (*henge, error) {
	h := &henge{server: newServer(v.title, "service"), variant: v, binary: binary, dir: filepath.Join(dir, v.folder), threads: threads}
	if err := os.MkdirAll(h.dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of %s: %w", v.title, err)
	}
	h.arguments = []string{"server", "--data", h.data(), "--set", fmt.Sprintf("service.processing.numThreads=%d", threads)}
	if memory != "" {
		h.arguments = append(h.arguments, "--set", "service.memory.limit="+memory)
	}
	for _, role := range []string{"router", "coordinator", "broker", "historical", "overlord", "indexer"} {
		h.arguments = append(h.arguments, "--set", "service."+role+".plaintextPort=0")
	}
	if v.rule {
		h.secure()
	}
	if err := h.start(); err != nil {
		return nil, err
	}
	if v.rule {
		if err := h.addUser(ctx); err != nil {
			return nil, errors.Join(err, h.close())
		}
	}
	return h, nil
}

// data is the folder of the server's data.
func (h *henge) data() string { return filepath.Join(h.dir, "data") }

func (h *henge) start() error {
	h.cmd = exec.Command(h.binary, h.arguments...)
	h.cmd.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", h.threads))
	log, err := os.OpenFile(filepath.Join(h.dir, "henge.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("making the log of Henge: %w", err)
	}
	defer log.Close()
	h.cmd.Stderr = log
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := startOn(h.cmd, h.threads); err != nil {
		return fmt.Errorf("starting [%s]: %w", h.binary, err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if m := readyLine.FindStringSubmatch(line); m != nil {
		h.told, h.base = m[1], m[2]
		return nil
	}
	return errors.Join(fmt.Errorf("the server said [%s] instead of being ready; its log is [%s]", strings.TrimSpace(line), log.Name()), err, h.close())
}

// startOn starts a command that may use so many processors, as it inherits from the thread that
// starts it: Henge has one thread more, which computes no queries.
func startOn(cmd *exec.Cmd, processors int) error {
	if processors >= runtime.NumCPU() {
		return cmd.Start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, few processorSet
	if err := all.call(syscall.SYS_SCHED_GETAFFINITY); err != nil {
		return fmt.Errorf("asking for processors: %w", err)
	}
	left := processors
	for w, word := range all {
		for ; word != 0 && left > 0; left-- {
			few[w] |= word & -word
			word &= word - 1
		}
	}
	if err := few.call(syscall.SYS_SCHED_SETAFFINITY); err != nil {
		return fmt.Errorf("keeping to [%d] processors: %w", processors, err)
	}
	return errors.Join(cmd.Start(), all.call(syscall.SYS_SCHED_SETAFFINITY))
}

// processorSet has a bit for each processor, as the system takes them.
type processorSet [16]uint64

// call asks for the processors of this thread, or sets them.
func (p *processorSet) call(number uintptr) error {
	if _, _, code := syscall.RawSyscall(number, 0, unsafe.Sizeof(*p), uintptr(unsafe.Pointer(p))); code != 0 {
		return code
	}
	return nil
}

func (h *henge) pid() int { return h.cmd.Process.Pid }

func (h *henge) cool() error {
	if err := errors.Join(h.close(), evict(h.data())); err != nil {
		return err
	}
	h.http.CloseIdleConnections()
	return h.start()
}

func (h *server) name() string     { return h.called }
func (h *server) dialect() dialect { return hengeSQL }
func (h *server) version() string  { return h.told }

// post sends JSON and reads the whole answer.
func (h *server) post(ctx context.Context, path string, body any) ([]byte, error) {
	return h.send(ctx, http.MethodPost, path, body, h.login)
}

// query sends a statement and reads the whole answer.
func (h *server) query(ctx context.Context, sql string) ([]byte, error) {
	return h.send(ctx, http.MethodPost, "/"+h.product+"/v2/sql", statement(sql), h.asker)
}

// send sends JSON, or bytes as they are, and reads the whole answer.
func (h *server) send(ctx context.Context, method, path string, body any, login string) ([]byte, error) {
	text, raw := body.([]byte)
	if !raw {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, h.base+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if raw {
		request.Header.Set("Content-Type", "application/x-ndjson")
	}
	if login != "" {
		request.Header.Set("Authorization", login)
	}
	return h.do(request)
}

// get reads a path.
func (h *server) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, h.base+path, nil)
	if err != nil {
		return nil, err
	}
	if h.login != "" {
		request.Header.Set("Authorization", h.login)
	}
	return h.do(request)
}

func (h *server) do(request *http.Request) ([]byte, error) {
	response, err := h.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", h.called, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the answer of %s: %w", h.called, err)
	case response.StatusCode >= 300:
		return nil, fmt.Errorf("%s answered %s: %s", h.called, response.Status, bytes.TrimSpace(text[:min(len(text), 600)]))
	}
	return text, nil
}

// statement is a query without caches of results and with exact distinct counts.
func statement(sql string) map[string]any {
	return map[string]any{"query": sql, "resultFormat": "array", "context": map[string]any{
		"useCache": false, "populateCache": false, "useResultLevelCache": false, "populateResultLevelCache": false,
		"useApproximateCountDistinct": false, "useApproximateTopN": false,
	}}
}

func (h *server) ask(ctx context.Context, sql string) (answer, error) {
	began := time.Now()
	text, err := h.query(ctx, sql)
	took := time.Since(began)
	if err != nil {
		return answer{}, err
	}
	a := answer{took: took}
	if err := decodeExact(text, &a.rows); err != nil {
		return a, fmt.Errorf("decoding the answer of %s: %w", h.called, err)
	}
	return a, nil
}

// load replaces the datasource by a task and waits until its segments can be queried.
func (h *server) load(ctx context.Context, t *table, file string, format fileFormat) (time.Duration, error) {
	began := time.Now()
	text, err := h.post(ctx, "/"+h.product+"/v2/sql/task", map[string]any{"query": h.loadSQL(t, file, format), "context": map[string]any{"waitUntilSegmentsLoad": true}})
	if err != nil {
		return 0, err
	}
	var task struct {
		TaskID string `json:"taskId"`
	}
	if err := json.Unmarshal(text, &task); err != nil {
		return 0, fmt.Errorf("decoding the task of %s: %w", h.called, err)
	}
	if err := h.await(ctx, task.TaskID); err != nil {
		return 0, err
	}
	return time.Since(began), nil
}

// await waits until a task has succeeded.
func (h *server) await(ctx context.Context, task string) error {
	for {
		text, err := h.get(ctx, "/"+h.product+"/indexer/v1/task/"+task+"/status")
		if err != nil {
			return err
		}
		var reply struct {
			Status struct {
				StatusCode string `json:"statusCode"`
				ErrorMsg   string `json:"errorMsg"`
			} `json:"status"`
		}
		if err := json.Unmarshal(text, &reply); err != nil {
			return fmt.Errorf("decoding the status of task [%s]: %w", task, err)
		}
		switch reply.Status.StatusCode {
		case "SUCCESS":
			return nil
		case "FAILED":
			return fmt.Errorf("task [%s] of %s failed: %s", task, h.called, reply.Status.ErrorMsg)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func (h *server) loadSQL(t *table, file string, format fileFormat) string {
	source, input := fmt.Sprintf(`{"type":"local","files":["%s"]}`, file), `{"type":"json"}`
	switch format {
	case csv:
		input = `{"type":"csv","findColumnsFromHeader":true}`
	case parquet:
		input = `{"type":"parquet"}`
	}
	at := timeOf{column: "t", hengeType: "BIGINT", henge: `MILLIS_TO_TIMESTAMP("t")`}
	if t.time != nil {
		at = *t.time
	}
	columns, types := "", []string(nil)
	if at.column != "" {
		types = append(types, fmt.Sprintf(`"%s" %s`, at.column, at.hengeType))
	}
	for _, c := range t.columns {
		columns += `, "` + c.name + `"`
		types = append(types, fmt.Sprintf(`"%s" %s`, c.name, c.sqlType))
	}
	return fmt.Sprintf(`REPLACE INTO %s OVERWRITE ALL SELECT %s AS __time%s FROM TABLE(EXTERN('%s', '%s')) EXTEND (%s) PARTITIONED BY %s`,
		t.name, at.henge, columns, source, input, strings.Join(types, ", "), t.partitionedBy)
}

func (h *server) clients(ctx context.Context, c crowd) (clientTimes, error) {
	var out clientTimes
	var mu sync.Mutex
	var all sync.WaitGroup
	end := time.Now().Add(c.d)
	if c.heavy != "" {
		all.Go(func() {
			for time.Now().Before(end) {
				if _, err := h.query(ctx, c.heavy); err != nil {
					mu.Lock()
					out.errors++
					mu.Unlock()
					return
				}
			}
		})
	}
	for k := range c.n {
		all.Go(func() {
			var times []time.Duration
			errs := 0
			for i := k; time.Now().Before(end); i += c.n {
				began := time.Now()
				if _, err := h.query(ctx, c.statements[i%len(c.statements)]); err != nil {
					errs++
				}
				times = append(times, time.Since(began))
			}
			mu.Lock()
			defer mu.Unlock()
			out.times, out.errors = append(out.times, times...), out.errors+errs
		})
	}
	all.Wait()
	return out, ctx.Err()
}

// size is that of the published segments; what a load replaced is not among them.
func (h *server) size(ctx context.Context, t *table) (int64, error) {
	text, err := h.get(ctx, "/"+h.product+"/coordinator/v1/datasources/"+t.name+"?simple")
	if err != nil {
		return 0, err
	}
	var reply struct {
		Segments struct{ Size int64 }
	}
	if err := json.Unmarshal(text, &reply); err != nil {
		return 0, fmt.Errorf("decoding the size of a datasource of %s: %w", h.called, err)
	}
	return reply.Segments.Size, nil
}

func (h *henge) close() error {
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stopping Henge: %w", err)
	}
	return h.cmd.Wait()
}
