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
	"regexp"
	"syscall"
	"time"
)

// server is a running binary on a directory of its own.
type server struct {
	cmd        *exec.Cmd
	dir        string
	router     string
	began      time.Time
	readyAfter time.Duration
	// login is the header that requests say by who sends them; "": nobody.
	login string
}

var routerURL = regexp.MustCompile(` ready in .*\brouter (http://[^ ,]+)`)

// withServer starts the binary on an empty directory, with some arguments more, calls f when it is
// ready, and stops it.
func (m *measurement) withServer(ctx context.Context, f func(*server) error, arguments ...string) error {
	dir, err := os.MkdirTemp(m.dir, "henge-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := m.start(ctx, dir, arguments...)
	if err != nil {
		return err
	}
	return errors.Join(f(s), s.stop())
}

// start starts the binary on a directory and returns when it is ready. The caller stops or kills
// it.
func (m *measurement) start(ctx context.Context, dir string, arguments ...string) (*server, error) {
	args := []string{"server", "--data", dir, "--set", "service.log.level=warn"}
	for _, role := range []string{"router", "coordinator", "broker", "historical", "overlord", "indexer"} {
		args = append(args, "--set", "service."+role+".plaintextPort=0")
	}
	s := &server{cmd: exec.CommandContext(ctx, m.binary, append(args, arguments...)...), dir: dir}
	s.cmd.Stderr = m.log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.began = time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	s.readyAfter = time.Since(s.began)
	if match := routerURL.FindStringSubmatch(line); match != nil {
		s.router = match[1]
		return s, nil
	}
	if err == nil {
		err = fmt.Errorf("the server says %q instead of where it answers", line)
	}
	return nil, errors.Join(err, s.stop())
}

// kill ends the process as a power failure would.
func (s *server) kill() error {
	http.DefaultClient.CloseIdleConnections()
	if err := s.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = s.cmd.Wait() // it was killed
	return nil
}

func (s *server) stop() error {
	http.DefaultClient.CloseIdleConnections()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// call sends a request to the Router and decodes the answer; into nil: whatever it is.
func (s *server) call(ctx context.Context, method, path string, body, out any) error {
	var content io.Reader = http.NoBody
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.router+path, content)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if s.login != "" {
		req.Header.Set("Authorization", s.login)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %.500s", method, path, resp.Status, answer)
	}
	if out == nil {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(answer))
	dec.UseNumber()
	return dec.Decode(out)
}

// ingest runs a statement as a task and returns when the task has succeeded.
func (s *server) ingest(ctx context.Context, sql string) error {
	var submitted struct {
		TaskID string `json:"taskId"`
	}
	if err := s.call(ctx, http.MethodPost, "/service/v2/sql/task", map[string]any{"query": sql}, &submitted); err != nil {
		return err
	}
	for {
		var answer struct {
			Status struct {
				StatusCode string `json:"statusCode"`
				ErrorMsg   string `json:"errorMsg"`
			} `json:"status"`
		}
		if err := s.call(ctx, http.MethodGet, "/service/indexer/v1/task/"+submitted.TaskID+"/status", nil, &answer); err != nil {
			return err
		}
		switch answer.Status.StatusCode {
		case "SUCCESS":
			return nil
		case "FAILED":
			return fmt.Errorf("the task failed: %s", answer.Status.ErrorMsg)
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// query returns the rows of a statement; whole numbers are exact.
func (s *server) query(ctx context.Context, sql string) ([][]any, error) {
	var rows [][]any
	err := s.call(ctx, http.MethodPost, "/service/v2/sql", map[string]any{"query": sql, "resultFormat": "array", "context": map[string]any{"timeout": 0}}, &rows)
	return rows, err
}

// count returns the number of rows of a datasource.
func (s *server) count(ctx context.Context, dataSource string) (int64, error) {
	rows, err := s.query(ctx, "SELECT COUNT(*) FROM "+dataSource)
	if err != nil || len(rows) != 1 || len(rows[0]) != 1 {
		return 0, errors.Join(err, fmt.Errorf("the count is %v", rows))
	}
	return rows[0][0].(json.Number).Int64()
}
