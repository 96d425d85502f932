package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/hengedb/henge/internal/testkit/server"
)

// day is the datasource of a supervisor that lives by a clock which the test steps.
type day struct {
	t     *testing.T
	s     *server.Server
	clock *server.Stepped
	kafka *kgo.Client
	base  time.Time
}

const (
	rowsOfAnHour = 100
	keptHours    = 6
)

// startDay starts a server with the supervisor, and retention of six hours that deletes what is
// older.
func startDay(t *testing.T) *day {
	t.Helper()
	broker := kafkaFor(t)
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	clock := server.NewStepped(t)
	s := server.Start(t, server.Options{Clock: clock, Settings: []string{
		"service.ingest.http.allowPrivate=true", "service.worker.capacity=12", "service.coordinator.kill.on=true",
		"service.coordinator.kill.durationToRetain=PT1H", "service.coordinator.kill.bufferPeriod=PT1H",
	}})
	d := &day{t, s, clock, client, clock.Now().UTC().Truncate(time.Hour).Add(time.Hour)}
	d.post("/service/coordinator/v1/rules/day", `[{"type":"loadByPeriod","period":"PT6H","includeFuture":true,
		"tieredReplicants":{"_default_tier":1}},{"type":"dropForever"}]`)
	d.post("/service/indexer/v1/supervisor", fmt.Sprintf(`{"type":"kafka","spec":{"dataSchema":{"dataSource":"day",
		"timestampSpec":{"column":"t","format":"millis"},"dimensionsSpec":{"dimensions":[{"type":"long","name":"id"}]},
		"granularitySpec":{"segmentGranularity":"hour","rollup":false}},"ioConfig":{"topic":"g_events",
		"consumerProperties":{"bootstrap.servers":"%s"},"inputFormat":{"type":"json"},"useEarliestOffset":true,"taskCount":2,
		"taskDuration":"PT1H","period":"PT10S","completionTimeout":"PT6H"},"tuningConfig":{"type":"kafka"}},
		"context":{"useConcurrentLocks":true}}`, broker))
	return d
}

// compact has hours compacted as soon as they have a segment, while more is read of them. The
// Coordinator forgets settings of a datasource without segments, so that they come after the first.
func (d *day) compact() {
	d.t.Helper()
	server.Until(d.t, "there is a segment", func() bool {
		return d.ask("SELECT COUNT(*) > 0 FROM sys.segments WHERE datasource = 'day' AND is_published = 1") == "[[true]]"
	})
	d.post("/service/coordinator/v1/config/compaction/taskslots?ratio=0.5", `null`)
	d.post("/service/coordinator/v1/config/compaction", `{"dataSource":"day","skipOffsetFromLatest":"PT0S",
		"taskContext":{"useConcurrentLocks":true}}`)
}

func (d *day) post(path, body string) {
	d.t.Helper()
	if err := d.s.Call(context.Background(), http.MethodPost, path, json.RawMessage(body), nil); err != nil {
		d.t.Fatal(err)
	}
}

// ask returns the rows of a query as a text, or its error.
func (d *day) ask(sql string) string {
	rows, err := d.s.Query(context.Background(), sql)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(rows)
}

// explain logs what there is, for a test that has failed.
func (d *day) explain() {
	var status json.RawMessage
	err := d.s.Call(context.Background(), http.MethodGet, "/service/indexer/v1/supervisor/day/status", nil, &status)
	d.t.Logf("it is %s; supervisor: %s %v", d.clock.Now().UTC().Format(time.RFC3339), status, err)
	for what, sql := range map[string]string{
		"tasks":    "SELECT task_id, status, runner_status, error_msg FROM sys.tasks WHERE datasource = 'day' ORDER BY created_time",
		"segments": "SELECT segment_id, num_rows, is_active, is_published, is_realtime FROM sys.segments WHERE datasource = 'day'",
		"rows":     "SELECT __time, COUNT(*), MIN(id), MAX(id), SUM(id) FROM day GROUP BY 1",
	} {
		d.t.Logf("%s: %s", what, d.ask(sql))
	}
}

// at is when the rows of an hour are.
func (d *day) at(hour int) time.Time {
	return d.base.Add(time.Duration(hour)*time.Hour + 30*time.Minute)
}

// live moves the clock to the time of an hour's rows. All that is due on the way is begun, one step
// of ten minutes after the other.
func (d *day) live(hour int) {
	for at := d.at(hour); d.clock.Now().Before(at); {
		d.clock.Advance(min(10*time.Minute, at.Sub(d.clock.Now())))
		server.Until(d.t, "the server answers", func() bool { return d.ask("SELECT 1") == "[[1]]" })
	}
}

// produce writes the rows of an hour to both partitions, and waits until they are seen.
func (d *day) produce(hour int) {
	d.t.Helper()
	first := hour * rowsOfAnHour
	var records []*kgo.Record
	for id := first; id < first+rowsOfAnHour; id++ {
		value := fmt.Appendf(nil, `{"t":%d,"id":%d}`, d.at(hour).UnixMilli(), id)
		records = append(records, &kgo.Record{Topic: "g_events", Partition: int32(id % 2), Value: value})
	}
	if err := d.kafka.ProduceSync(d.t.Context(), records...).FirstErr(); err != nil {
		d.t.Fatal(err)
	}
	count := fmt.Sprintf("SELECT COUNT(*) FROM day WHERE __time = MILLIS_TO_TIMESTAMP(%d)", d.at(hour).UnixMilli())
	server.Until(d.t, fmt.Sprintf("the rows of hour %d", hour), func() bool { return d.ask(count) == fmt.Sprintf("[[%d]]", rowsOfAnHour) })
}

// once tests that of each hour up to one that retention does not drop yet all rows are there, once.
func (d *day) once(hour int) {
	d.t.Helper()
	first := max(0, hour-keptHours+2)
	sum := fmt.Sprintf("SELECT COUNT(*), SUM(n), COUNT(DISTINCT least), SUM(CASE WHEN n <> %d OR ids <> n * least + %d THEN 1 ELSE 0 END) "+
		"FROM (SELECT __time, COUNT(*) AS n, SUM(id) AS ids, MIN(id) AS least FROM day WHERE __time >= MILLIS_TO_TIMESTAMP(%d) GROUP BY 1)",
		rowsOfAnHour, rowsOfAnHour*(rowsOfAnHour-1)/2, d.at(first).UnixMilli())
	hours := hour - first + 1
	if got, want := d.ask(sum), fmt.Sprintf("[[%d %d %d 0]]", hours, hours*rowsOfAnHour, hours); got != want {
		d.t.Fatalf("the hours up to hour [%d] are %s, want %s", hour, got, want)
	}
}

// TestADayOfAStream lives through 24 hours: two groups publish each hour, what they published is
// compacted, retention drops what is older than six hours, and it is deleted. Each row counts once
// in all of that, no task that writes fails, and nothing grows.
func TestADayOfAStream(t *testing.T) {
	d := startDay(t)
	defer func() {
		if t.Failed() {
			d.explain()
		}
	}()
	goroutines := 0
	for hour := range 24 {
		d.live(hour)
		if hour > 0 {
			d.once(hour - 1)
		}
		d.produce(hour)
		d.once(hour)
		server.Until(t, "what is to be published is", func() bool {
			const read = "SELECT COUNT(*) FROM sys.tasks WHERE datasource = 'day' AND type = 'index_kafka' AND status = 'RUNNING'"
			return d.ask(read) == "[[2]]"
		})
		d.once(hour)
		switch hour {
		case 1:
			d.compact()
		case 8:
			goroutines = runtime.NumGoroutine()
		}
	}
	d.clock.Advance(2 * time.Minute) // retention looks each minute
	server.Until(t, "old hours are gone, and those that are over for two are one segment each", func() bool {
		const all = `SELECT COUNT(*) FROM (SELECT "start", COUNT(*) AS n FROM sys.segments ` +
			`WHERE datasource = 'day' AND is_active = 1 GROUP BY 1)`
		whole := d.ask(fmt.Sprintf(all+` WHERE "start" < '%s' AND n = 1`, d.at(22).Truncate(time.Hour).Format("2006-01-02T15:04:05.000Z")))
		return d.ask(all) == "[[7]]" && whole == "[[5]]"
	})
	d.once(23)
	// Who deletes gives way to who writes: it fails, and another one deletes.
	const failed = "SELECT task_id, error_msg FROM sys.tasks WHERE datasource = 'day' AND status = 'FAILED' AND type <> 'kill'"
	if got := d.ask(failed); got != "[]" {
		t.Errorf("tasks that failed: %s", got)
	}
	if n := runtime.NumGoroutine(); n > goroutines+100 {
		t.Errorf("[%d] goroutines after 8 hours, [%d] after 24", goroutines, n)
	}
	t.Logf("tasks: %s", d.ask("SELECT type, status, COUNT(*) FROM sys.tasks WHERE datasource = 'day' GROUP BY 1, 2 ORDER BY 1"))
}
