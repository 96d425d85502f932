package flight

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hengedb/henge/internal/arrow"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/testkit/server"
)

// client speaks gRPC with net/http; each has a connection of its own.
type client struct {
	base, user string
	http       *http.Client
}

func dial(t *testing.T, base, user string) *client {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	return &client{base, user, &http.Client{Transport: transport}}
}

// status is how a call ended.
type status struct{ code, message string }

// open begins a call with one message.
func (c *client) open(ctx context.Context, method string, message []byte) (*http.Response, error) {
	body := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/arrow.flight.protocol.FlightService/"+method,
		bytes.NewReader(append(body, message...)))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/grpc")
	r.Header.Set("Te", "trailers")
	if c.user != "" {
		r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(c.user+":"+server.Password)))
	}
	return c.http.Do(r)
}

// call makes a call and returns its messages.
func (c *client) call(t *testing.T, method string, message []byte) ([][]byte, status) {
	t.Helper()
	resp, err := c.open(t.Context(), method, message)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]byte
	for len(body) >= 5 {
		n := int(binary.BigEndian.Uint32(body[1:]))
		out, body = append(out, body[5:5+n]), body[5+n:]
	}
	end := resp.Trailer
	if resp.Header.Get("Grpc-Status") != "" {
		end = resp.Header
	}
	return out, status{end.Get("Grpc-Status"), end.Get("Grpc-Message")}
}

func field(dst []byte, n protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, n, protowire.BytesType), v)
}

// part returns a field of a message; nil: it is not there.
func part(message []byte, want protowire.Number) []byte {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil
		}
		message = message[n:]
		if number == want && kind == protowire.BytesType {
			v, _ := protowire.ConsumeBytes(message)
			return v
		}
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return nil
		}
		message = message[n:]
	}
	return nil
}

// statement is the descriptor of a query.
func statement(sql string) []byte {
	packed := field(field(nil, 1, []byte("type.googleapis.com/arrow.flight.protocol.sql.CommandStatementQuery")), 2,
		field(nil, 1, []byte(sql)))
	return field([]byte{8, 2}, 2, packed)
}

// info returns the FlightInfo of a query with its ticket.
func (c *client) info(t *testing.T, sql string) (info, ticket []byte, end status) {
	t.Helper()
	messages, end := c.call(t, "GetFlightInfo", statement(sql))
	if len(messages) == 0 {
		return nil, nil, end
	}
	return messages[0], part(part(messages[0], 3), 1), end
}

// rows returns the values of a ticket.
func (c *client) rows(t *testing.T, ticket []byte) (string, status) {
	t.Helper()
	messages, end := c.call(t, "DoGet", ticket)
	var out []string
	var d *arrow.Decoder
	for i, m := range messages {
		if i == 0 {
			schema, err := arrow.DecodeSchema(part(m, 2))
			if err == nil {
				d, err = arrow.NewDecoder(schema)
			}
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		b, err := d.Decode(part(m, 2), part(m, 1000))
		if err != nil {
			t.Fatal(err)
		}
		for row := range b.Rows {
			for _, column := range b.Columns {
				out = append(out, fmt.Sprint(column.Value(row)))
			}
		}
	}
	return strings.Join(out, " "), end
}

// query returns the values of a query.
func (c *client) query(t *testing.T, sql string) (string, status) {
	t.Helper()
	_, ticket, end := c.info(t, sql)
	if end.code != "0" {
		return "", end
	}
	return c.rows(t, ticket)
}

// cancel asks for the end of a query, and returns what became of it.
func (c *client) cancel(t *testing.T, info []byte) byte {
	t.Helper()
	messages, end := c.call(t, "DoAction", field(field(nil, 1, []byte("CancelFlightInfo")), 2, field(nil, 1, info)))
	if end.code != "0" || len(messages) != 1 {
		t.Fatalf("%+v", end)
	}
	return part(messages[0], 1)[1]
}

// until waits for something to be so.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 1500 {
		if ok() {
			return
		}
		if err := clock.System().Sleep(t.Context(), 20*time.Millisecond); err != nil {
			break
		}
	}
	t.Fatalf("it never came to be that %s", what)
}

const endless = "SELECT a.n FROM numbers a CROSS JOIN numbers b CROSS JOIN numbers c CROSS JOIN numbers d"

// TestRightsAreThoseOfHTTP: who may read what, the rules on rows, and whose tickets are.
func TestRightsAreThoseOfHTTP(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{People: server.People{
		"admin": {"* * *"}, "ann": {`READ DATASOURCE wiki {"rows":"added > 15"}`}, "bob": {"READ DATASOURCE numbers"},
	}})
	for _, statement := range []string{wiki, numbersOf()} {
		if err := s.As("admin").Ingest(t.Context(), statement, nil); err != nil {
			t.Fatal(err)
		}
	}
	ann, bob := dial(t, s.Addresses["router"], "ann"), dial(t, s.Addresses["broker"], "bob")
	const sum = "SELECT SUM(added) AS s FROM wiki"
	if got, end := ann.query(t, sum); got != "50" || end.code != "0" {
		t.Errorf("ann sees %s, %+v", got, end)
	}
	if got, end := bob.query(t, sum); end.code != "7" {
		t.Errorf("bob sees %s, %+v", got, end)
	}
	if _, end := dial(t, s.Addresses["router"], "eve").query(t, "SELECT 1"); end.code != "16" {
		t.Errorf("eve: %+v", end)
	}
	if _, end := dial(t, s.Addresses["router"], "").query(t, "SELECT 1"); end.code != "16" {
		t.Errorf("nobody: %+v", end)
	}
	_, ticket, _ := ann.info(t, sum)
	if got, end := bob.rows(t, ticket); end.code != "7" {
		t.Errorf("bob gets %s by a ticket of ann's: %+v", got, end)
	}
	tables := field([]byte{8, 2}, 2, field(field(nil, 1, []byte("type.googleapis.com/arrow.flight.protocol.sql.CommandGetTables")), 2, nil))
	messages, end := bob.call(t, "GetFlightInfo", tables)
	if end.code != "0" {
		t.Fatalf("%+v", end)
	}
	listed, _ := bob.rows(t, part(part(messages[0], 3), 1))
	if strings.Contains(listed, "wiki") || !strings.Contains(listed, "numbers") {
		t.Errorf("bob is told of %s", listed)
	}
	stopsReading(t, s, bob)
}

// stopsReading: a client that does not read holds its query, which others see, until it is
// canceled.
func stopsReading(t *testing.T, s *server.Server, c *client) {
	t.Helper()
	info, ticket, end := c.info(t, endless)
	if end.code != "0" {
		t.Fatalf("%+v", end)
	}
	resp, err := c.open(t.Context(), "DoGet", ticket)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	running := func() bool {
		rows, err := s.As("admin").Query(t.Context(), "SELECT COUNT(*) FROM sys.queries WHERE state = 'RUNNING' "+
			"AND info LIKE '%numbers d%' AND info NOT LIKE '%sys.queries%'")
		return err == nil && fmt.Sprint(rows) != "[[0]]"
	}
	until(t, "the query shows", running)
	if got := c.cancel(t, info); got != 1 {
		t.Errorf("the cancel became %d", got)
	}
	until(t, "the query has ended", func() bool { return !running() })
	if _, err := io.Copy(io.Discard, resp.Body); err == nil && resp.Trailer.Get("Grpc-Status") == "0" {
		t.Error("the answer of a query that was canceled looks whole")
	}
	if got := c.cancel(t, info); got != 3 {
		t.Errorf("the second cancel became %d", got)
	}
}

// TestAnyBrokerTakesTickets: what one Broker gives another takes, also through a Router; a cancel
// finds the query on another one.
func TestAnyBrokerTakesTickets(t *testing.T) {
	t.Parallel()
	c := server.StartCluster(t, server.ClusterOptions{Processes: [][]string{
		{"coordinator", "overlord", "worker"}, {"broker", "historical"}, {"broker"}, {"router"},
	}})
	if err := c.Ingest(t.Context(), numbersOf(), nil); err != nil {
		t.Fatal(err)
	}
	var clients []*client
	for i, role := range []string{"broker", "broker", "router"} {
		clients = append(clients, dial(t, c.Nodes[i+1].Addresses[role], ""))
	}
	for _, from := range clients {
		for _, to := range clients {
			until(t, "the datasource is there", func() bool {
				_, ticket, end := from.info(t, "SELECT SUM(n) AS s FROM numbers")
				if end.code != "0" {
					return false
				}
				got, end := to.rows(t, ticket)
				return got == "499500" && end.code == "0"
			})
		}
	}
	info, ticket, _ := clients[2].info(t, endless)
	resp, err := clients[0].open(t.Context(), "DoGet", ticket)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := clients[1].cancel(t, info); got != 1 {
		t.Errorf("the cancel became %d", got)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err == nil && resp.Trailer.Get("Grpc-Status") != "1" {
		t.Errorf("the canceled query ended with %v", resp.Trailer)
	}
}

// TestWrongProtocols: a port takes HTTP/1.1 and HTTP/2, and outlives all else.
func TestWrongProtocols(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	c := dial(t, s.Addresses["router"], "")
	one := &client{base: c.base, http: http.DefaultClient} // HTTP/1.1, as a Router passes calls on
	if got, end := one.query(t, "SELECT 7 AS n"); got != "7" || end.code != "0" {
		t.Errorf("over HTTP/1.1: %s %+v", got, end)
	}
	address := strings.TrimPrefix(c.base, "http://")
	preface := "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	for name, bytes := range map[string]string{
		"a handshake of TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "half a preface": preface[:18],
		"no settings": preface + strings.Repeat("x", 100), "a frame of 2^24": preface + "\xff\xff\xff\x00\x00\x00\x00\x00\x00",
	} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, bytes); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if closer, ok := conn.(*net.TCPConn); ok {
			err = closer.CloseWrite()
		}
		if err == nil {
			_, err = io.Copy(io.Discard, conn)
		}
		if _, timeout := errors.AsType[net.Error](err); timeout && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: %v", name, err)
		}
		_ = conn.Close() // it was only read
	}
	if got, end := c.query(t, "SELECT 7 AS n"); got != "7" || end.code != "0" {
		t.Errorf("afterwards: %s %+v", got, end)
	}
	resp, err := http.Get(c.base + "/arrow.flight.protocol.FlightService/DoGet") //nolint:noctx // it is answered at once
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close() // only its status counts
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", resp.StatusCode)
	}
}
