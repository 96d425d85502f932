package e2e

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/testkit/server"
)

// wikiRows is the number of edits in the sample.
const wikiRows = 39244

// wikiLoad is the statement that loads the sample from a file.
const wikiLoad = `REPLACE INTO wikipedia OVERWRITE ALL
SELECT TIME_PARSE("time") AS __time, channel, cityName, comment, countryIsoCode, countryName, isAnonymous, isMinor, isNew, isRobot,
  isUnpatrolled, metroCode, namespace, page, regionIsoCode, regionName, "user", delta, added, deleted
FROM TABLE(EXTERN('{"type":"local","files":[%s]}', '{"type":"json"}')) EXTEND ("time" VARCHAR, channel VARCHAR, cityName VARCHAR,
  comment VARCHAR, countryIsoCode VARCHAR, countryName VARCHAR, isAnonymous VARCHAR, isMinor VARCHAR, isNew VARCHAR, isRobot VARCHAR,
  isUnpatrolled VARCHAR, metroCode BIGINT, namespace VARCHAR, page VARCHAR, regionIsoCode VARCHAR, regionName VARCHAR, "user" VARCHAR,
  delta BIGINT, added BIGINT, deleted BIGINT)
PARTITIONED BY HOUR`

// wikiFacts are what the test itself finds in the sample.
type wikiFacts struct {
	Rows, Added, Deleted, Delta int64
	// Pages are the ten most edited pages with their edits: most first, then by name.
	Pages []string
}

func readWiki(t *testing.T, path string) wikiFacts {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var facts wikiFacts
	edits := map[string]int64{}
	lines := bufio.NewScanner(plain)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			Page                  string
			Added, Deleted, Delta int64
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		facts.Rows++
		facts.Added += e.Added
		facts.Deleted += e.Deleted
		facts.Delta += e.Delta
		edits[e.Page]++
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	pages := make([]string, 0, len(edits))
	for p := range edits {
		pages = append(pages, p)
	}
	sort.Slice(pages, func(i, j int) bool {
		a, b := pages[i], pages[j]
		return edits[a] > edits[b] || edits[a] == edits[b] && a < b
	})
	for _, p := range pages[:10] {
		facts.Pages = append(facts.Pages, fmt.Sprintf("%s %d", p, edits[p]))
	}
	return facts
}

// askWiki asks the server for the same facts.
func askWiki(t *testing.T, c *server.Client) wikiFacts {
	t.Helper()
	var facts wikiFacts
	rows, err := c.Query(t.Context(), `SELECT COUNT(*), SUM(added), SUM(deleted), SUM(delta) FROM wikipedia`)
	if err != nil {
		t.Fatal(err)
	}
	for i, into := range []*int64{&facts.Rows, &facts.Added, &facts.Deleted, &facts.Delta} {
		if *into, err = rows[0][i].(json.Number).Int64(); err != nil {
			t.Fatal(err)
		}
	}
	rows, err = c.Query(t.Context(), `SELECT page, COUNT(*) AS edits FROM wikipedia GROUP BY page ORDER BY edits DESC, page LIMIT 10`)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		facts.Pages = append(facts.Pages, fmt.Sprintf("%s %s", r[0], r[1]))
	}
	return facts
}

func TestWikiSample(t *testing.T) {
	sample := filepath.Join(server.Shared(t), server.Wikiticker)
	want := readWiki(t, sample)
	if want.Rows != wikiRows {
		t.Fatalf("the sample has %d edits, want %d", want.Rows, wikiRows)
	}
	dir := t.TempDir()
	p := serve(t, dir)
	file, err := json.Marshal(sample)
	if err != nil {
		t.Fatal(err)
	}
	load := fmt.Sprintf(wikiLoad, strings.ReplaceAll(string(file), "'", "''"))
	if err := p.Ingest(t.Context(), load, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, askWiki(t, &p.Client)); diff != "" {
		t.Errorf("after the load (-want +got):\n%s", diff)
	}
	p.stop(t)

	p = serve(t, dir)
	if diff := cmp.Diff(want, askWiki(t, &p.Client)); diff != "" {
		t.Errorf("after a restart (-want +got):\n%s", diff)
	}
	p.kill()

	p = serve(t, dir)
	if diff := cmp.Diff(want, askWiki(t, &p.Client)); diff != "" {
		t.Errorf("after being killed (-want +got):\n%s", diff)
	}
	if err := p.Ingest(t.Context(), load, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, askWiki(t, &p.Client)); diff != "" {
		t.Errorf("after the load was repeated (-want +got):\n%s", diff)
	}
}
