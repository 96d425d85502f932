package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// wireClients ask small queries at once, in rounds of wireRound, over the wire and HTTP in turns.
	wireClients = 64
	wireRound   = 3 * time.Second
	wireQuery   = "SELECT COUNT(*) AS c, SUM(n) AS s FROM wide WHERE i < 1000"
	// wireIdle connections do nothing.
	wireIdle = 2000
)

// wire measures the PostgreSQL wire, and puts the figures into the file into. Rows over it need a
// Python that has psycopg, which HENGE_PG_PYTHON names.
func (m *measurement) wire(ctx context.Context, rows int64, into string, stdout io.Writer) error {
	figures := newReport("wire")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	if err := free.Close(); err != nil {
		return err
	}
	arguments := []string{"--set", "service.pgwire.plaintextPort=" + port, "--set", "service.pgwire.maxConnections=3000"}
	var table []row
	err = m.withServer(ctx, func(s *server) error {
		if err := s.ingest(ctx, fmt.Sprintf(`REPLACE INTO wide OVERWRITE ALL
			SELECT MILLIS_TO_TIMESTAMP(1767225600000 + i * 40) AS __time, i, MOD(i * 7919, 1000) AS n
			FROM (SELECT a.n * 1000 + b.n AS i FROM %s a CROSS JOIN %s b) PARTITIONED BY ALL`, numbers(rows/1000), numbers(1000))); err != nil {
			return err
		}
		for _, part := range []func() ([]row, error){
			func() ([]row, error) { return wireRows(ctx, port, rows, m.log) },
			func() ([]row, error) { return wireRates(ctx, s, port, m.times) },
		} {
			more, err := part()
			if err != nil {
				return err
			}
			table = append(table, more...)
		}
		return nil
	}, arguments...)
	if err != nil {
		return err
	}
	err = m.withServer(ctx, func(s *server) error { // one whose memory nothing has grown yet
		more, err := wireMemory(s, port)
		table = append(table, more...)
		return err
	}, arguments...)
	if err != nil {
		return err
	}
	figures.beside = ", clients on the same machine"
	return figures.write(table, into, stdout)
}

// wireRows runs wire.py.
func wireRows(ctx context.Context, port string, rows int64, log io.Writer) ([]row, error) {
	python := os.Getenv("HENGE_PG_PYTHON")
	if python == "" {
		return nil, errors.New("HENGE_PG_PYTHON names no Python that has psycopg")
	}
	cmd := exec.CommandContext(ctx, python, "wire.py", port, "wide", strconv.FormatInt(rows, 10))
	cmd.Stderr = log
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("running wire.py: %w", err)
	}
	var out struct {
		Version, Implementation  string
		Received, Fetched, First []float64
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, err
	}
	for _, list := range [][]float64{out.Received, out.Fetched, out.First} {
		slices.Sort(list)
	}
	how := fmt.Sprintf("%d rows of two BIGINT columns in binary to psycopg %s (%s), %d times", rows, out.Version, out.Implementation,
		len(out.Received))
	millions := func(list []float64) string {
		return fmt.Sprintf("median %.2f M rows/s, best %.2f", median(list)/1e6, list[len(list)-1]/1e6)
	}
	return []row{
		{"rows over the PostgreSQL wire, received", millions(out.Received), "1 M rows/s", how},
		{"the same, converted to Python objects", millions(out.Fetched), "", how + "; the driver creates a tuple per row"},
		{"first row of a long result", fmt.Sprintf("median %.1f ms, worst %.1f ms", median(out.First), out.First[len(out.First)-1]), "20 ms",
			fmt.Sprintf("of the same query, %d times, with the end of the rest by cancel before", len(out.First))},
	}, nil
}

// wireConn is a connection that sends queries and passes over their rows.
type wireConn struct {
	net.Conn
	buffer []byte
}

// dialWire logs in.
func dialWire(port string) (*wireConn, error) {
	conn, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		return nil, err
	}
	c := &wireConn{conn, make([]byte, 0, 512)}
	startup := []byte("\x00\x00\x00\x00\x00\x03\x00\x00user\x00bench\x00database\x00henge\x00\x00")
	binary.BigEndian.PutUint32(startup, uint32(len(startup)))
	if _, err := conn.Write(startup); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return c, c.ready()
}

// query sends a statement and returns when it is answered.
func (c *wireConn) query(sql string) error {
	message := append([]byte("Q\x00\x00\x00\x00"+sql), 0)
	binary.BigEndian.PutUint32(message[1:], uint32(len(message)-1))
	if _, err := c.Write(message); err != nil {
		return err
	}
	return c.ready()
}

// ready reads up to ReadyForQuery.
func (c *wireConn) ready() error {
	c.buffer = c.buffer[:0]
	chunk := make([]byte, 512)
	for {
		n, err := c.Read(chunk)
		if err != nil {
			return err
		}
		c.buffer = append(c.buffer, chunk[:n]...)
		for len(c.buffer) >= 5 {
			size := 1 + int(binary.BigEndian.Uint32(c.buffer[1:]))
			if len(c.buffer) < size {
				break
			}
			kind := c.buffer[0]
			if kind == 'E' {
				return fmt.Errorf("the server answers %q", c.buffer[5:size])
			}
			c.buffer = append(c.buffer[:0], c.buffer[size:]...)
			if kind == 'Z' {
				return nil
			}
		}
	}
}

// wireRates compares small queries of many clients over the wire and over HTTP, in turns.
func wireRates(ctx context.Context, s *server, port string, times int) ([]row, error) {
	var conns []*wireConn
	defer func() {
		for _, c := range conns {
			_ = c.Close() // all was read
		}
	}()
	for range wireClients {
		c, err := dialWire(port)
		if err != nil {
			return nil, err
		}
		conns = append(conns, c)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: wireClients}}
	body, err := json.Marshal(map[string]any{"query": wireQuery, "resultFormat": "array"})
	if err != nil {
		return nil, err
	}
	over := map[string]func(i int) error{
		"wire": func(i int) error { return conns[i].query(wireQuery) },
		"HTTP": func(int) error {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.router+"/service/v2/sql", bytes.NewReader(body))
			if err != nil {
				return err
			}
			r.Header.Set("Content-Type", "application/json")
			resp, err := client.Do(r)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
				return errors.Join(err, fmt.Errorf("status %s", resp.Status))
			}
			return nil
		},
	}
	rates := map[string][]float64{}
	for range times {
		for _, way := range []string{"HTTP", "wire"} {
			rate, err := atOnce(over[way])
			if err != nil {
				return nil, fmt.Errorf("over %s: %w", way, err)
			}
			rates[way] = append(rates[way], rate)
		}
	}
	var ratios []float64
	for i := range rates["wire"] {
		ratios = append(ratios, rates["wire"][i]/rates["HTTP"][i])
	}
	slices.Sort(ratios)
	for _, list := range rates {
		slices.Sort(list)
	}
	return []row{{fmt.Sprintf("small queries of %d connections", wireClients),
		fmt.Sprintf("%.0f a second against %.0f over HTTP: median %.0f %%, %.0f %% to %.0f %%", median(rates["wire"]), median(rates["HTTP"]),
			100*median(ratios), 100*ratios[0], 100*ratios[len(ratios)-1]), "80 % of HTTP",
		fmt.Sprintf("`%s` over all rows, simple protocol against `/v2/sql`, %d rounds of %s each, alternating; the clients share the cores",
			wireQuery, times, wireRound)}}, nil
}

// atOnce has all clients ask until the round is over, and returns the queries a second.
func atOnce(ask func(i int) error) (float64, error) {
	var clients sync.WaitGroup
	var asked atomic.Int64
	failed := make(chan error, wireClients)
	began := time.Now()
	for i := range wireClients {
		clients.Go(func() {
			for time.Since(began) < wireRound {
				if err := ask(i); err != nil {
					failed <- err
					return
				}
				asked.Add(1)
			}
		})
	}
	clients.Wait()
	close(failed)
	return float64(asked.Load()) / time.Since(began).Seconds(), <-failed
}

// wireMemory opens connections that do nothing.
func wireMemory(s *server, port string) ([]row, error) {
	before, err := resident(s.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	var conns []*wireConn
	defer func() {
		for _, c := range conns {
			_ = c.Close() // all was read
		}
	}()
	for range wireIdle {
		c, err := dialWire(port)
		if err != nil {
			return nil, err
		}
		conns = append(conns, c)
	}
	after, err := resident(s.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	return []row{{fmt.Sprintf("%d idle connections", wireIdle), fmt.Sprintf("%.1f MB", after-before), "50 MB",
		"increase of the resident memory of a newly started server after all connections have logged in"}}, nil
}

// resident is the resident memory of a process in MB.
func resident(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0, errors.New("there is no VmRSS")
	}
	kb, err := strconv.ParseFloat(fields[0], 64)
	return kb * 1024 / 1e6, err
}
