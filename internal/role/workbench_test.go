package role_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/hengedb/henge/internal/role"
	"github.com/hengedb/henge/internal/testkit/server"
)

const consolePath = "/service-ext/console"

// visits are rows with what statistics tell: numbers, nulls, few and many texts.
const visits = `REPLACE INTO visits OVERWRITE ALL
SELECT MILLIS_TO_TIMESTAMP(1767225600000 + n * 60000) AS __time, n, CASE WHEN MOD(n, 4) = 0 THEN NULL ELSE 'c' || MOD(n, 3) END AS country,
  'user ' || n AS "user", n / 2e0 AS half
FROM TABLE(EXTERN('{"type":"inline","data":"%s"}', '{"type":"csv","columns":["n"]}')) EXTEND (n BIGINT)
PARTITIONED BY DAY`

func loadVisits(t *testing.T, c *server.Client, rows int) {
	t.Helper()
	var numbers []string
	for n := range rows {
		numbers = append(numbers, fmt.Sprint(n))
	}
	if err := c.Ingest(t.Context(), fmt.Sprintf(visits, strings.Join(numbers, `\n`)), nil); err != nil {
		t.Fatal(err)
	}
}

type toldColumn struct {
	Name, Type                                       string
	Rows, Nulls                                      int64
	Min, Max                                         any
	Distinct                                         *int64
	BoundsEstimated, DistinctEstimated, TopEstimated bool
	Top                                              []struct {
		Value string
		Count int64
	}
	Histogram []struct {
		From, To any
		Count    int64
	}
}

func (c *toldColumn) bounds() string { return fmt.Sprintf("%v %v", c.Min, c.Max) }

type toldColumns struct {
	Segments, DescribedSegments int
	DescribedRows               int64
	Sampled                     bool
	Columns                     []toldColumn
}

func (s *toldColumns) of(name string) *toldColumn {
	for i := range s.Columns {
		if s.Columns[i].Name == name {
			return &s.Columns[i]
		}
	}
	return &toldColumn{}
}

func TestColumnsAreDescribedWithoutAScan(t *testing.T) {
	n, c := started(t, role.Options{})
	defer stop(t, n, c)
	loadVisits(t, c, 3000) // over three days
	var told toldColumns
	if err := c.Call(t.Context(), http.MethodGet, consolePath+"/datasources/visits/columns", nil, &told); err != nil {
		t.Fatal(err)
	}
	if told.Segments != 3 || told.DescribedSegments != 3 || told.DescribedRows != 3000 || told.Sampled || len(told.Columns) != 5 {
		t.Errorf("%+v", told)
	}
	about := func(n *int64, want int64) bool { return n != nil && *n > want*9/10 && *n < want*11/10 }
	if c := told.of("n"); c.Type != "BIGINT" || c.Nulls != 0 || c.bounds() != "0 2999" || c.BoundsEstimated || !about(c.Distinct, 3000) {
		t.Errorf("n: %+v", c)
	}
	if c := told.of("country"); c.Type != "VARCHAR" || c.Nulls != 750 || c.bounds() != "c0 c2" || c.Distinct == nil ||
		*c.Distinct != 3 || c.TopEstimated || len(c.Top) != 3 || c.Top[0].Value != "c0" || c.Top[0].Count+c.Top[1].Count+c.Top[2].Count != 2250 {
		t.Errorf("country: %+v", c)
	}
	if c := told.of("user"); !about(c.Distinct, 3000) || !c.DistinctEstimated || len(c.Top) != 10 || !c.TopEstimated {
		t.Errorf("user: %+v", c)
	}
	if c := told.of("__time"); c.Type != "TIMESTAMP" || c.Min != "2026-01-01T00:00:00.000Z" || c.Max != "2026-01-03T01:59:00.000Z" {
		t.Errorf("__time: %+v", c)
	}
	for _, name := range []string{"n", "half", "__time"} {
		sum := int64(0)
		for _, b := range told.of(name).Histogram {
			sum += b.Count
		}
		if buckets := len(told.of(name).Histogram); buckets != 24 || sum < 2990 || sum > 3010 {
			t.Errorf("%s: %d values in %d buckets", name, sum, buckets)
		}
	}
	var one toldColumns
	if err := c.Call(t.Context(), http.MethodGet, consolePath+"/datasources/visits/columns?column=half&column=none", nil, &one); err != nil {
		t.Fatal(err)
	}
	if len(one.Columns) != 1 || one.Columns[0].Name != "half" {
		t.Errorf("%+v", one)
	}
	status, body, _ := c.Send(t.Context(), "router", http.MethodGet, consolePath+"/datasources/none/columns", "")
	if status != http.StatusNotFound {
		t.Errorf("of a datasource that is not there: %d %s", status, body)
	}
}

// tailed is a live tail that a test reads.
type tailed struct {
	t     *testing.T
	lines *bufio.Scanner
}

func openTail(ctx context.Context, t *testing.T, by caller, path string) *tailed {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, by.url+consolePath+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if by.authorization != "" {
		req.Header.Set("Authorization", by.authorization)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/x-ndjson" {
		t.Fatalf("a tail is answered with %s, %v", resp.Status, resp.Header)
	}
	return &tailed{t, bufio.NewScanner(resp.Body)}
}

type tailEvent struct {
	Type      string
	Columns   []struct{ Name, Type string }
	Rows      [][]any
	Truncated bool
	Reason    string
}

func (a *tailed) next() (e tailEvent) {
	a.t.Helper()
	for a.lines.Scan() {
		e = tailEvent{}
		if err := json.Unmarshal(a.lines.Bytes(), &e); err != nil {
			a.t.Fatalf("%q: %v", a.lines.Text(), err)
		}
		if e.Type != "alive" {
			return e
		}
	}
	a.t.Fatalf("the tail has ended: %v", a.lines.Err())
	return e
}

func TestATailGivesWhatComes(t *testing.T) {
	n, c := started(t, role.Options{})
	defer stop(t, n, c)
	loadVisits(t, c, 50)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	tail := openTail(ctx, t, caller{t: t, url: c.Addresses["router"]}, "/datasources/visits/tail?rows=20&every=200")
	if e := tail.next(); e.Type != "columns" || len(e.Columns) != 5 || e.Columns[0].Name != "__time" {
		t.Errorf("%+v", e)
	}
	if e := tail.next(); e.Type != "rows" || len(e.Rows) != 20 || e.Rows[0][1] != 30.0 || e.Rows[19][1] != 49.0 || e.Truncated {
		t.Errorf("%+v", e)
	}
	insert := strings.Replace(fmt.Sprintf(visits, `50\n51`), "REPLACE INTO visits OVERWRITE ALL", "INSERT INTO visits", 1)
	if err := c.Ingest(t.Context(), insert, nil); err != nil {
		t.Fatal(err)
	}
	if e := tail.next(); e.Type != "rows" || len(e.Rows) != 2 || e.Rows[0][1] != 50.0 || e.Rows[1][1] != 51.0 {
		t.Errorf("%+v", e)
	}
	leave()
	http.DefaultClient.CloseIdleConnections()
	for _, wrong := range []string{"rows=0", "rows=1001", "rows=x", "every=1", "every=60001", "every=y"} {
		status, body, _ := c.Send(t.Context(), "router", http.MethodGet, consolePath+"/datasources/visits/tail?"+wrong, "")
		if status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", wrong, status, body)
		}
	}
	status, body, _ := c.Send(t.Context(), "router", http.MethodGet, consolePath+"/datasources/none/tail", "")
	if status != http.StatusBadRequest {
		t.Errorf("of a datasource that is not there: %d %s", status, body)
	}
}

// Rules on rows hold in a tail, and statistics are refused where there is one.
func TestRulesHoldInTailAndStatistics(t *testing.T) {
	n, c := started(t, role.Options{}, securedByKeys...)
	defer stop(t, n, c)
	admin := userAt(t, c.Addresses["router"], "admin", "sesame")
	as := *c
	as.HTTP = server.LoggedIn("admin", "sesame")
	loadVisits(t, &as, 30)
	coordinator := userAt(t, c.Addresses["coordinator"], "admin", "sesame")
	const roles = "/service-ext/basic-security/authorization/db/roles/roles/"
	key := func(name, permissions string) caller {
		coordinator.must("POST", roles+name, "", nil)
		coordinator.must("POST", roles+name+"/permissions", permissions, nil)
		var made madeKey
		admin.must("POST", keysPath, `{"roles":["`+name+`"]}`, &made)
		return caller{t, c.Addresses["router"], "Bearer " + made.Key}
	}
	part := key("part", `[{"resource":{"type":"DATASOURCE","name":"visits"},"action":"READ","policy":{"rows":"country = 'c1'"}}]`)
	none := key("none", `[{"resource":{"type":"DATASOURCE","name":"other"},"action":"READ"}]`)
	all := key("all", `[{"resource":{"type":"DATASOURCE","name":"visits"},"action":"READ"}]`)

	const columns, tail = consolePath + "/datasources/visits/columns", "/datasources/visits/tail?rows=1000"
	for name, want := range map[string]struct {
		by     caller
		status int
		says   string
	}{"rule": {part, 403, "Rules show only a part"}, "none": {none, 403, "Unauthorized"}, "all": {all, 200, `"c1"`}} {
		if status, text := want.by.do("GET", columns, ""); status != want.status || !strings.Contains(text, want.says) {
			t.Errorf("statistics with permission %s: %d %.300s", name, status, text)
		}
	}
	if status, text := none.do("GET", consolePath+tail, ""); status != 403 {
		t.Errorf("a tail without permission: %d %.300s", status, text)
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	got := openTail(ctx, t, part, tail)
	got.next()
	rows := got.next().Rows
	if len(rows) == 0 {
		t.Error("the tail has no rows")
	}
	for _, row := range rows {
		if row[2] != "c1" {
			t.Errorf("the tail shows %v", row)
		}
	}
	leave()
	http.DefaultClient.CloseIdleConnections()
}

type toldQuery struct {
	ID, Name, Statement, Owner string
	Shared, Own                bool
	Version                    int64
	View                       map[string]any
}

type toldQueries struct {
	Queries []toldQuery
	Total   int
}

func TestSavedQueriesBelongToPeople(t *testing.T) {
	n, c := started(t, role.Options{}, securedByKeys...)
	defer stop(t, n, c)
	admin := userAt(t, c.Addresses["router"], "admin", "sesame")
	makeReader(userAt(t, c.Addresses["coordinator"], "admin", "sesame"))
	var key madeKey
	admin.must("POST", keysPath, `{"roles":["reader"]}`, &key)
	other := caller{t, c.Addresses["broker"], "Bearer " + key.Key}

	const path = consolePath + "/queries"
	var mine, shared toldQuery
	admin.must("POST", path, `{"name":" Mine ","statement":"SELECT 1","view":{"chart":"bar"}}`, &mine)
	admin.must("POST", path, `{"name":"Shared","statement":"SELECT 2","shared":true}`, &shared)
	if mine.Name != "Mine" || mine.Version != 1 || !mine.Own || mine.Owner != "admin" || mine.View["chart"] != "bar" || len(mine.ID) != 12 {
		t.Errorf("%+v", mine)
	}
	var seen toldQuery
	other.must("GET", path+"/"+shared.ID, "", &seen)
	if seen.Own || seen.Statement != "SELECT 2" || seen.View == nil {
		t.Errorf("%+v", seen)
	}
	var list toldQueries
	other.must("GET", path, "", &list)
	if list.Total != 1 || len(list.Queries) != 1 || list.Queries[0].ID != shared.ID {
		t.Errorf("%+v", list)
	}
	admin.must("GET", path+"?text=mI&limit=1", "", &list)
	if list.Total != 1 || list.Queries[0].ID != mine.ID {
		t.Errorf("%+v", list)
	}
	var changed toldQuery
	admin.must("PUT", path+"/"+mine.ID, `{"name":"Mine","statement":"SELECT 3","version":1}`, &changed)
	if changed.Version != 2 || changed.Statement != "SELECT 3" {
		t.Errorf("%+v", changed)
	}
	long := strings.Repeat("x", 257<<10)
	for _, wrong := range []struct {
		by                 caller
		method, path, body string
		status             int
		says               string
	}{
		{admin, "PUT", "/" + mine.ID, `{"name":"Mine","statement":"SELECT 4","version":1}`, 409, "has version [2], not [1]"},
		{admin, "PUT", "/" + mine.ID, `{"name":"Mine","statement":"SELECT 4"}`, 400, "needs the [version]"},
		{other, "GET", "/" + mine.ID, "", 404, "does not exist"},
		{other, "PUT", "/" + mine.ID, `{"name":"a","statement":"b","version":2}`, 404, "does not exist"},
		{other, "PUT", "/" + shared.ID, `{"name":"a","statement":"b","version":1}`, 403, "belongs to [admin]"},
		{other, "DELETE", "/" + shared.ID, "", 403, "belongs to [admin]"},
		{other, "DELETE", "/" + mine.ID, "", 404, "does not exist"},
		{admin, "GET", "/none", "", 404, "[none] does not exist"},
		{admin, "DELETE", "/none", "", 404, "[none] does not exist"},
		{admin, "PUT", "/none", `{"name":"a","statement":"b","version":1}`, 404, "[none] does not exist"},
		{admin, "POST", "", `{"name":"","statement":"b"}`, 400, "between 1 and [200] characters"},
		{admin, "POST", "", `{"name":"a\nb","statement":"b"}`, 400, "no control characters"},
		{admin, "POST", "", `{"name":"a","statement":" "}`, 400, "between 1 and [262144] bytes"},
		{admin, "POST", "", `{"name":"a","statement":"` + long + `"}`, 400, "between 1 and [262144] bytes"},
		{admin, "POST", "", `{"name":"a","statement":"` + long + long + long + long + `"}`, 413, "larger than [1048576] bytes"},
		{admin, "POST", "", `{"name":"a","statement":"b","view":[]}`, 400, "[view] is not a JSON object"},
		{admin, "POST", "", `{"name":"a","statement":"b","view":{"a":"` + long[:40000] + `"}}`, 400, "[view] has more than"},
		{admin, "POST", "", `{"name":"a","statement":"b","colour":1}`, 400, "colour"},
		{admin, "POST", "", `{"name":`, 400, "can't be read"},
		{admin, "GET", "?limit=0", "", 400, "Value [0] of [limit]"},
		{admin, "GET", "?limit=501", "", 400, "Value [501] of [limit]"},
		{admin, "GET", "?offset=-1", "", 400, "Value [-1] of [offset]"},
		{caller{t, c.Addresses["router"], ""}, "GET", "", "", 401, ""},
	} {
		if status, text := wrong.by.do(wrong.method, path+wrong.path, wrong.body); status != wrong.status || !strings.Contains(text, wrong.says) {
			t.Errorf("%s %s %.80s: %d %.300s", wrong.method, wrong.path, wrong.body, status, text)
		}
	}
	var made toldQuery
	other.must("POST", path, `{"name":"Theirs","statement":"SELECT 5","shared":true}`, &made)
	admin.must("DELETE", path+"/"+made.ID, "", nil) // an administrator may, of what is shared
	admin.must("DELETE", path+"/"+mine.ID, "", nil)
}

func TestRowsBecomeAParquetFile(t *testing.T) {
	n, c := started(t, role.Options{})
	defer stop(t, n, c)
	loadVisits(t, c, 50)
	const path = consolePath + "/export"
	status, file, err := c.Send(t.Context(), "router", http.MethodPost, path, `{"query":"SELECT n, country FROM visits ORDER BY n"}`)
	if err != nil || status != http.StatusOK || !strings.HasPrefix(string(file), "PAR1") || !strings.HasSuffix(string(file), "PAR1") {
		t.Fatalf("%d %.200q, %v", status, file, err)
	}
	read, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil || read.NumRows() != 50 || len(read.Schema().Fields()) != 2 || read.Schema().Fields()[1].Name() != "country" {
		t.Errorf("%v, %v", read, err)
	}
	for body, says := range map[string]string{
		`{"query":"SELECT nothing FROM visits"}`: "nothing", `{"query":""}`: "", `{"query":1}`: "query", `{}`: "Empty query",
	} {
		status, text, _ := c.Send(t.Context(), "router", http.MethodPost, path, body)
		if status != http.StatusBadRequest || !strings.Contains(string(text), says) {
			t.Errorf("%s: %d %.300s", body, status, text)
		}
	}
	if status, text, _ := c.Send(t.Context(), "router", http.MethodGet, consolePath+"/progress/none", ""); status != http.StatusNotFound {
		t.Errorf("the progress of no query: %d %s", status, text)
	}
}
