package api

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/golden"
	"github.com/hengedb/henge/internal/testkit/pending"
	"github.com/hengedb/henge/internal/testkit/server"
)

// TestNativeExchanges replays the native queries. What is not answered yet is in
// testdata/native_pending.txt, what is answered otherwise by intent in testdata/native_differs.txt,
// with the reason.
func TestNativeExchanges(t *testing.T) {
	shared := server.Shared(t)
	s := server.Start(t, server.Options{})
	player := s.LoadGolden(t.Context(), t, shared)
	replayNative(t, player, filepath.Join(shared, "golden", "native"), "native")
}

// TestNativeExchangesOverACluster is the same over processes of one role each, that pass each other
// plans and rows.
func TestNativeExchangesOverACluster(t *testing.T) {
	shared := server.Shared(t)
	c := server.StartCluster(t, server.ClusterOptions{Processes: server.Small})
	player := c.LoadGolden(t.Context(), t, shared)
	replayNative(t, player, filepath.Join(shared, "golden", "native"), "native")

	// Lambdas and folds are sent to where the rows are, and the accumulators of many segments become
	// one.
	var groups []struct {
		Event struct {
			Namespace                                     string
			Added, Deleted, Twice, Folded, Listed, Larger int64
		}
	}
	err := c.Call(t.Context(), http.MethodPost, "/service/v2", json.RawMessage(`{"queryType":"groupBy","dataSource":"wikiticker","intervals":["2015-09-12/2015-09-13"],
		"granularity":"all","dimensions":["namespace"],"virtualColumns":[
			{"type":"expression","name":"doubled","expression":"fold((x, acc) -> acc + x, map(x -> x * 2, array(added, deleted)), 0)","outputType":"LONG"}],
		"aggregations":[{"type":"longSum","name":"twice","fieldName":"doubled"},{"type":"longSum","name":"added","fieldName":"added"},{"type":"longSum","name":"deleted","fieldName":"deleted"},
			{"type":"expression","name":"folded","fields":["added","deleted"],"initialValue":"0","fold":"__acc + 2 * (added + deleted)","combine":"__acc + folded"},
			{"type":"expression","name":"listed","fields":["added"],"initialValue":"ARRAY<LONG>[]","fold":"if(added > 500, array_append(__acc, added), __acc)",
				"combine":"array_concat(__acc, listed)","finalize":"array_length(o)"},
			{"type":"filtered","filter":{"type":"range","column":"added","matchValueType":"LONG","lower":500,"lowerOpen":true},"aggregator":{"type":"count","name":"larger"}}]}`), &groups)
	if err != nil {
		t.Fatal(err)
	}
	larger := int64(0)
	for _, g := range groups {
		e := g.Event
		if sum := 2 * (e.Added + e.Deleted); e.Twice != sum || e.Folded != sum || e.Listed != e.Larger {
			t.Errorf("namespace %q: %+v", e.Namespace, e)
		}
		larger += e.Larger
	}
	if larger < 100 {
		t.Errorf("%d rows in lists: this tests too little", larger)
	}
}

// TestNativeSketches is the same for the native queries of sketches, whose datasources are those of
// the statements of golden/corpus.
func TestNativeSketches(t *testing.T) {
	shared := server.Shared(t)
	s := server.Start(t, server.Options{})
	if err := s.LoadCorpus(t.Context(), shared); err != nil {
		t.Fatal(err)
	}
	player := &golden.Player{Addresses: s.Addresses, Wait: time.Minute}
	replayNative(t, player, filepath.Join(shared, "golden", "native-sketches"), "native_sketches")
}

// replayNative plays the exchanges of a folder and compares with the lists of that name.
func replayNative(t *testing.T, player *golden.Player, dir, name string) {
	t.Helper()
	exchanges, err := golden.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	list := pending.Read(t, "testdata/"+name+"_pending.txt")
	differs := pending.Read(t, "testdata/"+name+"_differs.txt")
	outcome, wanted := pending.Outcome{}, pending.Outcome{}
	passed := 0
	for _, e := range exchanges {
		if e.Setup {
			continue // loads of another kind of task: LoadCorpus and LoadGolden do the same
		}
		r := player.Play(t.Context(), e)
		difference := r.Difference + r.Skipped + r.Missing
		if difference == "" {
			passed++
		}
		if differs.Has(e.Name) {
			wanted[e.Name] = difference
			if differs.Reason(e.Name) == "" {
				t.Errorf("%s_differs.txt gives no reason for [%s]", name, e.Name)
			}
			continue
		}
		outcome[e.Name] = difference
		if difference != "" {
			t.Logf("%s: %s", e.Name, difference)
		}
	}
	t.Logf("%d of %d exchanges answered like the recording", passed, len(exchanges))
	list.Settle(t, outcome, true, *update)
	differs.Settle(t, wanted, true, *update)
}

// segmentVersion finds the version in the name of a segment.
var segmentVersion = regexp.MustCompile(`_\d{4}-\d\d-\d\dT[^_"]*Z"`)

func TestBucketsOfNativeQueries(t *testing.T) {
	s := server.Start(t, server.Options{})
	rows := `{"t":"2024-01-01T00:30:00Z","k":"a","n":1}` + "\n" + `{"t":"2024-01-01T02:30:00Z","k":"b","n":2}`
	if err := s.Ingest(t.Context(), inline("REPLACE INTO events OVERWRITE ALL", rows), nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Ingest(t.Context(), inline("REPLACE INTO tags OVERWRITE ALL", `{"t":"2024-01-01T00:30:00Z","k":["x","x","y"],"n":1}`), nil); err != nil {
		t.Fatal(err)
	}
	days := `{"t":"2024-01-01T01:00:00Z","k":"a"}` + "\n" + `{"t":"2024-01-01T02:00:00Z","k":"b"}` + "\n" + `{"t":"2024-01-02T03:00:00Z","k":"c"}` + "\n" +
		`{"t":"2024-01-02T04:00:00Z","k":"b"}` + "\n" + `{"t":"2024-01-02T05:00:00Z","k":"dd"}`
	if err := s.Ingest(t.Context(), inline("REPLACE INTO days OVERWRITE ALL", days), nil); err != nil {
		t.Fatal(err)
	}
	const (
		from  = `"dataSource":"events","intervals":"2024-01-01/2024-01-02"`
		hours = `"granularity":{"type":"period","period":"PT1H","timeZone":"Asia/Tokyo"}`
		count = `"aggregations":[{"type":"count","name":"c"}]`
		topN  = `{"queryType":"topN",` + from + `,"dimension":"k","metric":"c","threshold":5,` + count
	)
	for name, c := range map[string]struct{ body, want string }{
		"topN has the buckets of the data in the zone of the granularity": {topN + `,` + hours + `,"filter":{"type":"selector","dimension":"k","value":"a"}}`,
			`[{"timestamp":"2024-01-01T09:00:00.000+09:00","result":[{"k":"a","c":1}]},{"timestamp":"2024-01-01T10:00:00.000+09:00","result":[]},` +
				`{"timestamp":"2024-01-01T11:00:00.000+09:00","result":[]}]`},
		"topN shows a bucket of several segments in the zone of the granularity": {
			strings.NewReplacer(`"events"`, `"days"`, "2024-01-02", "2024-01-03").Replace(topN) + `,"granularity":{"type":"period","period":"P1M","timeZone":"Asia/Tokyo"}}`,
			`[{"timestamp":"2024-01-01T00:00:00.000+09:00","result":[{"k":"b","c":2},{"k":"a","c":1},{"k":"c","c":1},{"k":"dd","c":1}]}]`,
		},
		"a scan has an element for each segment": {`{"queryType":"scan","dataSource":"days","intervals":"2023/2025","columns":["k"],"resultFormat":"compactedList","offset":1,"limit":3}`,
			`[{"segmentId":"days_2024-01-01T00:00:00.000Z_2024-01-02T00:00:00.000Z_V","columns":["k"],"events":[["b"]],"rowSignature":[{"name":"k","type":"STRING"}]},` +
				`{"segmentId":"days_2024-01-02T00:00:00.000Z_2024-01-03T00:00:00.000Z_V","columns":["k"],"events":[["c"],["b"]],"rowSignature":[{"name":"k","type":"STRING"}]}]`},
		"a search stops in each segment when it has found enough": {`{"queryType":"search","dataSource":"days","intervals":"2023/2025","granularity":"all","searchDimensions":["k"],"limit":2,` +
			`"query":{"type":"all"},"sort":{"type":"strlen"}}`,
			`[{"timestamp":"2024-01-01T00:00:00.000Z","result":[{"dimension":"k","value":"a","count":1},{"dimension":"k","value":"b","count":2}]}]`},
		"a search by days": {`{"queryType":"search","dataSource":"days","intervals":"2023/2025","searchDimensions":["k"],"limit":1,"query":{"type":"all"},` +
			`"granularity":{"type":"period","period":"P1M","timeZone":"Asia/Tokyo"}}`,
			`[{"timestamp":"2024-01-01T00:00:00.000+09:00","result":[{"dimension":"k","value":"a","count":1},{"dimension":"k","value":"b","count":1}]}]`},
		"a timeseries from its end begins with the last segment": {`{"queryType":"timeseries","dataSource":"days","intervals":"2023/2025","granularity":"all","descending":true,` + count + `}`,
			`[{"timestamp":"2024-01-02T03:00:00.000Z","result":{"c":5}}]`},
		"a timeseries leaves its only bucket out": {`{"queryType":"timeseries","dataSource":"days","intervals":"2023/2025","granularity":"all","filter":{"type":"false"},` + count +
			`,"context":{"skipEmptyBuckets":true}}`, `[]`},
		"groupBy sorts by dimensions before time": {`{"queryType":"groupBy","dataSource":"days","intervals":"2023/2025","granularity":"day","dimensions":["k"],"aggregations":[],` +
			`"filter":{"type":"in","dimension":"k","values":["b","c"]},"context":{"sortByDimsFirst":true,"resultAsArray":true}}`,
			`[[1704067200000,"b"],[1704153600000,"b"],[1704153600000,"c"]]`},
		"the last time of the segments in an interval": {`{"queryType":"dataSourceMetadata","dataSource":"days","intervals":"2024-01-01/2024-01-01T01:30:00Z"}`,
			`[{"timestamp":"2024-01-01T02:00:00.000Z","result":{"maxIngestedEventTime":"2024-01-01T02:00:00.000Z"}}]`},
		"only the last time": {`{"queryType":"timeBoundary","dataSource":"days","bound":"maxtime"}`,
			`[{"timestamp":"2024-01-02T05:00:00.000Z","result":{"maxTime":"2024-01-02T05:00:00.000Z"}}]`},
		"texts of segments that are no numbers count as 0": {`{"queryType":"timeseries",` + from + `,"granularity":"all","virtualColumns":[{"type":"expression","name":"v","expression":"k"}],` +
			`"aggregations":[{"type":"longSum","name":"a","fieldName":"k"},{"type":"doubleFirst","name":"b","fieldName":"v"}]}`,
			`[{"timestamp":"2024-01-01T00:30:00.000Z","result":{"a":0,"b":0.0}}]`},
		"other texts that are no numbers are none": {`{"queryType":"groupBy","dataSource":{"type":"query","query":{"queryType":"groupBy",` + from + `,"granularity":"all","dimensions":["k"],` +
			`"aggregations":[]}},"intervals":"2024-01-01/2024-01-02","granularity":"all","dimensions":[],"aggregations":[{"type":"longSum","name":"a","fieldName":"k"}],"context":{"resultAsArray":true}}`,
			`[[null]]`},
		"groups of all times have no time in a join": {`{"queryType":"scan","dataSource":{"type":"join","left":"events","right":{"type":"query","query":{"queryType":"groupBy",` + from + `,` +
			`"granularity":"all","dimensions":["k"],"aggregations":[]}},"rightPrefix":"r.","condition":"k == \"r.k\"","joinType":"INNER"},"intervals":"2024-01-01/2024-01-02","columns":[],"limit":1,` +
			`"resultFormat":"compactedList"}`, `[{"segmentId":"events_2024-01-01T00:00:00.000Z_2024-01-02T00:00:00.000Z_V","columns":["__time","k","n","r.k"],"events":[[1704069000000,"a",1,"a"]],` +
			`"rowSignature":[{"name":"__time","type":"LONG"},{"name":"k","type":"STRING"},{"name":"n","type":"LONG"},{"name":"r.k","type":"STRING"}]}]`},
		"a segment has data until the end of the bucket of its last row": {`{"queryType":"timeseries","dataSource":"events","granularity":"hour","intervals":["2024-01-01T02:45/2024-01-01T05"],` + count + `}`,
			`[{"timestamp":"2024-01-01T02:00:00.000Z","result":{"c":0}}]`},
		"of all times, to its end": {`{"queryType":"timeseries","dataSource":"events","granularity":"all","intervals":["2024-01-01T03:10/2024-01-01T05"],` + count + `}`,
			`[{"timestamp":"2024-01-01T03:10:00.000Z","result":{"c":0}}]`},
		"topN behind the last row": {strings.Replace(topN, `"2024-01-01/2024-01-02"`, `"2024-01-01T03:10/2024-01-01T05"`, 1) + `,"granularity":"all"}`,
			`[{"timestamp":"2024-01-01T03:10:00.000Z","result":[]}]`},
		"topN before the first row": {strings.Replace(topN, `"2024-01-01/2024-01-02"`, `"2024-01-01/2024-01-01T00:10"`, 1) + `,"granularity":"all"}`, `[]`},
		"topN that finds nothing":   {topN + `,"granularity":"all","filter":{"type":"false"}}`, `[{"timestamp":"2024-01-01T00:30:00.000Z","result":[]}]`},
		"topN over listed values": {`{"queryType":"topN",` + from + `,"granularity":"all","metric":"c","threshold":5,` + count +
			`,"dimension":{"type":"listFiltered","delegate":"k","values":["b"]}}`, `[{"timestamp":"2024-01-01T00:30:00.000Z","result":[{"k":"b","c":1}]}]`},
		"a constant with a fraction": {`{"queryType":"groupBy",` + from + `,"granularity":"all","dimensions":[],` + count + `,"postAggregations":[` +
			`{"type":"doubleGreatest","name":"p","fields":[{"type":"constant","value":2.5},{"type":"fieldAccess","fieldName":"c"}]},` +
			`{"type":"arithmetic","name":"q","fn":"+","fields":[{"type":"constant","value":0.25},{"type":"fieldAccess","fieldName":"c"}]}]}`,
			`[{"version":"v1","timestamp":"2024-01-01T00:00:00.000Z","event":{"c":2,"p":2.5,"q":2.25}}]`},
		"groupBy in a zone": {`{"queryType":"groupBy",` + from + `,` + hours + `,"dimensions":["k"],` + count + `}`,
			`[{"version":"v1","timestamp":"2024-01-01T09:00:00.000+09:00","event":{"k":"a","c":1}},` +
				`{"version":"v1","timestamp":"2024-01-01T11:00:00.000+09:00","event":{"k":"b","c":1}}]`},
		"the mean of nothing": {`{"queryType":"timeseries",` + from + `,` + hours + `,"filter":{"type":"selector","dimension":"k","value":"b"},` +
			`"aggregations":[{"type":"doubleMean","name":"m","fieldName":"n"}]}`,
			`[{"timestamp":"2024-01-01T09:00:00.000+09:00","result":{"m":0.0}},{"timestamp":"2024-01-01T10:00:00.000+09:00","result":{"m":0.0}},` +
				`{"timestamp":"2024-01-01T11:00:00.000+09:00","result":{"m":2.0}}]`},
		"search counts rows": {`{"queryType":"search","dataSource":"tags","intervals":"2023/2025","granularity":"all","searchDimensions":["k"],"query":{"type":"all"}}`,
			`[{"timestamp":"2024-01-01T00:00:00.000Z","result":[{"dimension":"k","value":"x","count":1},{"dimension":"k","value":"y","count":1}]}]`},
		"cardinality of several fields": {`{"queryType":"timeseries","dataSource":"tags","intervals":"2023/2025","granularity":"all","aggregations":[` +
			`{"type":"cardinality","name":"a","fields":["k","n"],"round":true},{"type":"cardinality","name":"b","fields":["k","n"],"byRow":true,"round":true}]}`,
			`[{"timestamp":"2024-01-01T00:30:00.000Z","result":{"a":3,"b":1}}]`},
		"times of several values": {`{"queryType":"groupBy","dataSource":"tags","intervals":"2023/2025","granularity":"all","dimensions":[{"type":"extraction","dimension":"k","outputName":"d",` +
			`"extractionFn":{"type":"timeFormat","format":"EEEE"}}],"aggregations":[{"type":"count","name":"n"}],"context":{"resultAsArray":true}}`, `[[null,3]]`},
		"bucket of several values": {`{"queryType":"groupBy","dataSource":"tags","intervals":"2023/2025","granularity":"all","dimensions":[{"type":"extraction","dimension":"k","outputName":"d",` +
			`"extractionFn":{"type":"bucket","size":2}}],"aggregations":[{"type":"count","name":"n"}],"context":{"resultAsArray":true}}`, `[[null,3]]`},
		"search in no segment": {`{"queryType":"search","dataSource":"tags","intervals":"2020/2021","granularity":"all","query":{"type":"all"}}`, `[]`},
		"search shows segments without matches": {`{"queryType":"search",` + from + `,"granularity":"day","query":{"type":"contains","value":"z"}}`,
			`[{"timestamp":"2024-01-01T00:00:00.000Z","result":[]}]`},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, got := post(t, s, "/service/v2", c.body)
			if got = strings.TrimSpace(segmentVersion.ReplaceAllString(got, `_V"`)); status != 200 || got != c.want {
				t.Errorf("status %d\n%s, want\n%s", status, got, c.want)
			}
		})
	}
}
