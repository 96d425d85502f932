package local

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql"
)

// numbers is a table of 999 rows, whatever it is called but "none".
type numbers struct{}

func (numbers) Table(_ context.Context, name string) (*sql.Table, error) {
	if name == "none" {
		return nil, nil
	}
	return numbers{}.File(context.Background(), name)
}

func (numbers) File(_ context.Context, path string) (*sql.Table, error) {
	if path == "broken" {
		return nil, fault.InvalidInput("File [broken] is broken")
	}
	columns := []plan.Column{{Name: "x", Type: expr.Of(expr.Varchar)}}
	return &sql.Table{Columns: columns, Query: "SELECT x FROM UNNEST(STRING_TO_ARRAY(REPEAT('1,', 999), ',')) AS u(x)"}, nil
}

func (numbers) Names() []string { return []string{"numbers"} }

// open returns a client of an Engine, and a function that closes it and expects nothing to be left.
func open(t *testing.T) *http.Client {
	t.Helper()
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	e, err := Open(Options{Tables: numbers{}, Access: &ingest.Access{}, Memory: 256 << 20, Clock: clock.System(), Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
	return &http.Client{Transport: e}
}

func ask(ctx context.Context, c *http.Client, method, path, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://local"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	return c.Do(r)
}

func TestAnswers(t *testing.T) {
	c := open(t)
	for request, want := range map[string]string{
		`POST /service/v2/sql {"query":"SELECT COUNT(*) AS n FROM numbers JOIN 'x' AS x ON TRUE"}`: `200 [{"n":998001}]`,
		`POST /service/v2/sql {"query":"SELECT * FROM none"}`:                                      "400 Object 'none' not found",
		`POST /service/v2/sql {"query":"SELECT * FROM 'broken'"}`:                                  `400 File [broken] is broken`,
		`POST /service/v2/sql {"query":"SELECT TABLE_NAME FROM INFORMATION_SCHEMA.TABLES"}`:        `200 numbers`,
		`POST /service/v2/sql {`:             "400 ",
		`POST /service/v2/sql/task {}`:       "501 INSERT and REPLACE take a server",
		`GET /status `:                       `200 "version":"1"`,
		`GET /service/coordinator/v1/loads `: "501 This takes a server (GET /service/coordinator/v1/loads)",
		`DELETE /service/v2/sql/none `:       "404 ",
	} {
		parts := strings.SplitN(request, " ", 3)
		status, text, _ := strings.Cut(want, " ")
		resp, err := ask(t.Context(), c, parts[0], parts[1], parts[2])
		if err != nil {
			t.Errorf("%s: %v", request, err)
			continue
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || !strings.HasPrefix(http.StatusText(resp.StatusCode), resp.Status) || !strings.Contains(string(body), text) ||
			status != "400" && status[0] != byte('0'+resp.StatusCode/100) || status == "400" && resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d %s, %v, want %s", request, resp.StatusCode, body, err, want)
		}
		_ = resp.Body.Close() // it was read
	}
}

const long = `{"query":"SELECT a.x FROM numbers AS a CROSS JOIN numbers AS b CROSS JOIN numbers AS c","resultFormat":"arrayLines"}`

// Whoever stops to read, or to wait, ends the query.
func TestEndsOfAnswers(t *testing.T) {
	c := open(t)
	resp, err := ask(t.Context(), c, http.MethodPost, "/service/v2/sql", long)
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || line != "[\"1\"]\n" {
		t.Errorf("%q, %v", line, err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	resp, err = ask(ctx, c, http.MethodPost, "/service/v2/sql", long)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.Copy(io.Discard, resp.Body); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	_ = resp.Body.Close() // it was read
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if resp, err := ask(ctx, c, http.MethodPost, "/service/v2/sql", long); err == nil {
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			t.Error("a request that was over is answered")
		}
	}
}
