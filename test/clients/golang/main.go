// Command golang runs an unmodified Go client, which its argument names, against a server: go-druid
// with the requests of the Grafana plugin, or avatica-go. It prints a line per step.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	_ "github.com/apache/calcite-avatica-go/v5"
	"github.com/grafadruid/go-druid"
	"github.com/grafadruid/go-druid/builder"
	"github.com/grafadruid/go-druid/builder/aggregation"
	"github.com/grafadruid/go-druid/builder/datasource"
	"github.com/grafadruid/go-druid/builder/filter"
	"github.com/grafadruid/go-druid/builder/granularity"
	"github.com/grafadruid/go-druid/builder/intervals"
	"github.com/grafadruid/go-druid/builder/query"
)

var failed bool

// step runs one step; got and want are compared as JSON.
func step(name string, run func() (any, error), want string) {
	got, err := run()
	text, encodeErr := json.Marshal(got)
	switch {
	case err != nil:
		failed = true
		fmt.Printf("FAIL %s: %s\n", name, strings.ReplaceAll(err.Error(), "\n", " "))
	case encodeErr != nil || want != "" && !same(string(text), want):
		failed = true
		fmt.Printf("FAIL %s: got %s, want %s\n", name, text, want)
	default:
		fmt.Println("ok", name)
	}
}

func same(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

func main() {
	client, address := os.Args[1], os.Args[2]
	switch client {
	case "druid":
		native(address)
	case "avatica":
		avatica(address)
	}
	if failed {
		os.Exit(1)
	}
}

func native(address string) {
	d, err := druid.NewClient(address, druid.WithRetryMax(0))
	if err != nil {
		panic(err)
	}
	step("status", func() (any, error) {
		s, _, err := d.Common().Status()
		if err != nil {
			return nil, err
		}
		return s.Version, nil
	}, `"33.0.0"`)
	step("health", func() (any, error) { h, _, err := d.Common().Health(); return h, err }, `true`)
	step("properties", func() (any, error) {
		p, _, err := d.Common().Properties()
		if err != nil {
			return nil, err
		}
		return (*p)["druid.extensions.loadList"], nil
	}, `"[]"`)
	step("discovery", func() (any, error) {
		s, _, err := d.Common().SelfDiscovered()
		if err != nil {
			return nil, err
		}
		return s.SelfDiscovered, nil
	}, `true`)
	run := func(q builder.Query) (any, error) {
		var out any
		_, err := d.Query().Execute(q, &out)
		return out, err
	}
	i := intervals.NewInterval()
	i.SetInterval(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2024, 1, 3, 0, 0, 0, 0, time.UTC))
	within := intervals.NewIntervals().SetIntervals([]*intervals.Interval{i})
	table := datasource.NewTable().SetName("visits")
	days := granularity.NewSimple().SetGranularity(granularity.Day)
	all := granularity.NewSimple().SetGranularity(granularity.All)
	rows := []builder.Aggregator{aggregation.NewCount().SetName("n")}
	step("timeseries", func() (any, error) {
		return run(query.NewTimeseries().SetDataSource(table).SetIntervals(within).SetAggregations(rows).SetGranularity(days).
			SetFilter(filter.NewNot().SetField(filter.NewSelector().SetDimension("channel").SetValue("#en"))))
	}, `[{"timestamp":"2024-01-01T00:00:00.000Z","result":{"n":16}},{"timestamp":"2024-01-02T00:00:00.000Z","result":{"n":16}}]`)
	step("filters", func() (any, error) {
		in := filter.NewIn().SetDimension("page").SetValues([]string{"page 1", "page 2"})
		like := filter.NewLike().SetDimension("channel").SetPattern("#%e%")
		return run(query.NewTimeseries().SetDataSource(table).SetIntervals(within).SetAggregations(rows).SetGranularity(all).
			SetFilter(filter.NewAnd().SetFields([]builder.Filter{in, like})))
	}, `[{"timestamp":"2024-01-01T00:00:00.000Z","result":{"n":9}}]`)
	step("sql", func() (any, error) {
		return run(query.NewSQL().SetQuery("SELECT channel, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY " +
			"1").SetResultFormat("array").SetHeader(true))
	}, `[["channel","n"],["#de",16],["#en",16],["#fr",16]]`)
	step("sql with parameters", func() (any, error) {
		p := query.NewSQLParameter()
		p.Type, p.Value = "VARCHAR", "#en"
		return run(query.NewSQL().SetQuery("SELECT COUNT(*) AS n FROM visits WHERE channel = ?").SetParameters([]query.SQLParameter{*p}))
	}, `[{"n":16}]`)
	grafana(d, run)
	step("error", func() (any, error) {
		_, err := run(query.NewSQL().SetQuery("SELECT nope FROM visits"))
		return err != nil && strings.Contains(err.Error(), "nope"), nil
	}, `true`)
}

// grafana runs what the plugin of Grafana sends: it loads queries from what its editor makes.
func grafana(d *druid.Client, run func(builder.Query) (any, error)) {
	const when = `"dataSource":{"type":"table","name":"visits"},"intervals":{"type":"intervals",` +
		`"intervals":["2024-01-01T00:00:00.000Z/2024-01-03T00:00:00.000Z"]},` +
		`"context":{"grafanaUser":"me"}`
	const sums = `"aggregations":[{"type":"longSum","name":"a","fieldName":"added"}]`
	for _, q := range []struct{ name, text, want string }{
		{"timeseries", `{"queryType":"timeseries",` + when + `,"granularity":"day",` + sums + `}`,
			`[{"timestamp":"2024-01-01T00:00:00.000Z","result":{"a":276}},{"timestamp":"2024-01-02T00:00:00.000Z","result":{"a":852}}]`},
		{"topN", `{"queryType":"topN",` + when + `,"granularity":"all","dimension":{"type":"default","dimension":"channel",` +
			`"outputName":"channel","outputType":"STRING"},"metric":{"type":"numeric","metric":"a"},"threshold":1,` + sums + `}`,
			`[{"timestamp":"2024-01-01T00:00:00.000Z","result":[{"channel":"#fr","a":392}]}]`},
		{"groupBy", `{"queryType":"groupBy",` + when + `,"granularity":"all","dimensions":[{"type":"default","dimension":"channel",` +
			`"outputName":"c","outputType":"STRING"}],` + sums +
			`,"limitSpec":{"type":"default","limit":1,"columns":[{"dimension":"a","direction":"descending","dimensionOrder":"numeric"}]}}`,
			`[{"version":"v1","timestamp":"2024-01-01T00:00:00.000Z","event":{"c":"#fr","a":392}}]`},
		{"search", `{"queryType":"search",` + when + `,"granularity":"all","searchDimensions":[{"type":"default","dimension":"channel"}],` +
			`"query":{"type":"contains","value":"e","caseSensitive":true},"sort":{"type":"lexicographic"}}`,
			`[{"timestamp":"2024-01-01T00:00:00.000Z","result":[{"dimension":"channel","value":"#de","count":16},{"dimension":"channel",` +
				`"value":"#en","count":16}]}]`},
		{"timeBoundary", `{"queryType":"timeBoundary","dataSource":{"type":"table","name":"visits"},"bound":"maxTime"}`,
			`[{"timestamp":"2024-01-02T23:00:00.000Z","result":{"maxTime":"2024-01-02T23:00:00.000Z"}}]`},
		{"dataSourceMetadata", `{"queryType":"dataSourceMetadata","dataSource":{"type":"table","name":"visits"}}`,
			`[{"timestamp":"2024-01-02T23:00:00.000Z","result":{"maxIngestedEventTime":"2024-01-02T23:00:00.000Z"}}]`},
		{"segmentMetadata", `{"queryType":"segmentMetadata",` + when +
			`,"merge":true,"analysisTypes":[],"toInclude":{"type":"list","columns":["added"]}}`, ""},
		{"scan", `{"queryType":"scan",` + when + `,"columns":["channel"],"limit":1,"resultFormat":"list"}`, ""},
		{"sql", `{"queryType":"sql","query":"SELECT FLOOR(__time TO DAY) AS t, SUM(added) AS a FROM visits GROUP BY 1 ORDER BY 1",` +
			`"resultFormat":"array","header":true}`,
			`[["t","a"],["2024-01-01T00:00:00.000Z",276],["2024-01-02T00:00:00.000Z",852]]`},
	} {
		step("grafana: "+q.name, func() (any, error) {
			loaded, err := d.Query().Load([]byte(q.text))
			if err != nil {
				return nil, err
			}
			return run(loaded)
		}, q.want)
	}
}

func avatica(address string) {
	db, err := sql.Open("avatica", address+"/druid/v2/sql/avatica-protobuf/?sqlTimeZone=UTC")
	if err != nil {
		panic(err)
	}
	rows := func(text string, args ...any) (any, error) {
		list, err := db.QueryContext(context.Background(), text, args...)
		if err != nil {
			return nil, err
		}
		defer list.Close()
		columns, err := list.Columns()
		if err != nil {
			return nil, err
		}
		out := [][]any{}
		for list.Next() {
			row, into := make([]any, len(columns)), make([]any, len(columns))
			for i := range row {
				into[i] = &row[i]
			}
			if err := list.Scan(into...); err != nil {
				return nil, err
			}
			out = append(out, row)
		}
		return out, list.Err()
	}
	step("ping", func() (any, error) { return nil, db.Ping() }, "")
	step("rows", func() (any, error) { return rows("SELECT channel, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1") },
		`[["#de",16],["#en",16],["#fr",16]]`)
	step("parameters", func() (any, error) {
		return rows("SELECT COUNT(*) FROM visits WHERE channel = ? AND added > ?", "#en", 10)
	}, `[[12]]`)
	step("types", func() (any, error) {
		return rows("SELECT 1, CAST(1.5 AS DOUBLE), 'x', TRUE, CAST(NULL AS VARCHAR), TIMESTAMP '2024-01-02 03:04:05'")
	}, `[[1,1.5,"x",true,null,"2024-01-02T03:04:05Z"]]`)
	step("frames", func() (any, error) {
		got, err := rows("SELECT v.added FROM visits AS v, visits AS w, visits AS x WHERE x.added < 3")
		if err != nil {
			return nil, err
		}
		return len(got.([][]any)), nil
	}, `6912`)
	step("a prepared statement", func() (any, error) {
		statement, err := db.Prepare("SELECT MAX(added) FROM visits WHERE channel = ?")
		if err != nil {
			return nil, err
		}
		defer statement.Close()
		var out []int64
		for _, channel := range []string{"#en", "#de", "#fr"} {
			var most int64
			if err := statement.QueryRow(channel).Scan(&most); err != nil {
				return nil, err
			}
			out = append(out, most)
		}
		return out, nil
	}, `[45,46,47]`)
	step("several connections", func() (any, error) {
		errs := make(chan error)
		for range 8 {
			go func() {
				got, err := rows("SELECT SUM(added) FROM visits")
				if text, _ := json.Marshal(got); err == nil && string(text) != `[[1128]]` {
					err = fmt.Errorf("got %s", text)
				}
				errs <- err
			}()
		}
		for range 8 {
			if err := <-errs; err != nil {
				return nil, err
			}
		}
		return nil, nil
	}, "")
	step("error", func() (any, error) {
		_, err := rows("SELECT nope FROM visits")
		return err != nil && strings.Contains(err.Error(), "nope"), nil
	}, `true`)
	step("close", func() (any, error) { return nil, db.Close() }, "")
}
