package api

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/hengedb/henge/internal/testkit/golden"
	"github.com/hengedb/henge/internal/testkit/pending"
	"github.com/hengedb/henge/internal/testkit/server"
)

// scene replays a family of recordings that is the life of supervisors: what the recordings did
// between the exchanges that they kept, and what they waited for, is told here by the name of the
// exchange that follows.
type scene struct {
	t      *testing.T
	s      *server.Server
	kafka  *kfake.Cluster
	client *kgo.Client
	broker string
	away   atomic.Bool // the broker answers nobody
	player *golden.Player
	rows   []string // of the sample, in order
}

func newScene(t *testing.T) *scene {
	shared := server.Shared(t)
	c := &scene{t: t, rows: sampleRows(t, filepath.Join(shared, "data", "wikiticker-2015-09-12-sampled.json.gz"), 1000)}
	var err error
	c.kafka, err = kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "g_wiki", "g_events"), kfake.SeedTopics(1, "g_other", "g_late",
		"g_f1", "g_f2", "g_f3"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kafka.Close)
	c.kafka.Control(func(kmsg.Request) (kmsg.Response, error, bool) { //nolint:revive // the order is kfake's
		c.kafka.KeepControl()
		if c.away.Load() {
			return nil, errors.New("away"), true
		}
		return nil, nil, false
	})
	c.broker = c.kafka.ListenAddrs()[0]
	if c.client, err = kgo.NewClient(kgo.SeedBrokers(c.broker), kgo.RecordPartitioner(kgo.ManualPartitioner())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.client.Close)
	c.s = server.Start(t, server.Options{Settings: []string{"service.ingest.http.allowPrivate=true"}})
	c.player = &golden.Player{Addresses: c.s.Addresses, Replace: strings.NewReplacer(recordedBroker, c.broker), Wait: 20 * time.Second}
	return c
}

func sampleRows(t *testing.T, path string, n int) (rows []string) {
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	in, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for len(rows) < n && lines.Scan() {
		rows = append(rows, lines.Text())
	}
	return rows
}

// produce writes records to a partition.
func (c *scene) produce(topic string, partition int32, values ...string) {
	c.t.Helper()
	var records []*kgo.Record
	for _, v := range values {
		r := &kgo.Record{Topic: topic, Partition: partition, Value: []byte(v)}
		if v == "null" {
			r.Value = nil
		}
		records = append(records, r)
	}
	if err := c.client.ProduceSync(c.t.Context(), records...).FirstErr(); err != nil {
		c.t.Fatal(err)
	}
}

// post sends what the recordings sent and did not keep.
func (c *scene) post(path, body string) {
	c.t.Helper()
	var of any
	if body != "" {
		if err := json.Unmarshal([]byte(strings.ReplaceAll(body, recordedBroker, c.broker)), &of); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := c.s.Call(c.t.Context(), http.MethodPost, "/service/indexer/v1/supervisor"+path, of, nil); err != nil {
		c.t.Fatalf("%s: %v", path, err)
	}
}

// state is what the scenes look at of a status.
type state struct {
	State, DetailedState         string
	LatestOffsets, MinimumLag    map[string]int64
	RecentErrors                 []any
	ActiveTasks, PublishingTasks []activeTask
}

type activeTask struct {
	ID                              string
	StartTime                       *string
	StartingOffsets, CurrentOffsets map[string]int64
}

func (c *scene) status(id string) (out state) {
	var body struct{ Payload state }
	if err := c.s.Call(context.Background(), http.MethodGet, "/service/indexer/v1/supervisor/"+id+"/status", nil, &body); err != nil {
		return state{}
	}
	return body.Payload
}

// until waits for something of a supervisor.
func (c *scene) until(id, what string, ok func(state) bool) state {
	c.t.Helper()
	var last state
	server.Until(c.t, id+": "+what, func() bool { last = c.status(id); return ok(last) })
	return last
}

// reads waits until a supervisor has one task for each of its groups, which all run.
func (c *scene) reads(id string, groups int) state {
	c.t.Helper()
	return c.until(id, "tasks read", func(s state) bool {
		waits := func(a activeTask) bool { return a.StartTime == nil }
		return s.State == "RUNNING" && len(s.ActiveTasks) == groups && !slices.ContainsFunc(s.ActiveTasks, waits)
	})
}

// measured waits until the lag is known, and nothing of it is left.
func (c *scene) measured(id string, latest map[string]int64) state {
	c.t.Helper()
	return c.until(id, "lag is measured", func(s state) bool {
		for p, n := range latest {
			if s.LatestOffsets[p] != n || s.MinimumLag[p] != 0 || len(s.ActiveTasks) == 0 {
				return false
			}
		}
		for _, a := range s.ActiveTasks {
			if len(a.CurrentOffsets) == 0 {
				return false
			}
		}
		return true
	})
}

// count waits until a datasource has so many rows.
func (c *scene) count(dataSource string, rows int) {
	c.t.Helper()
	server.Until(c.t, fmt.Sprintf("[%d] rows in [%s]", rows, dataSource), func() bool {
		got, err := c.s.Query(context.Background(), "SELECT COUNT(*) FROM "+dataSource)
		return err == nil && fmt.Sprint(got) == fmt.Sprintf("[[%d]]", rows)
	})
}

// idle waits until no task of a datasource runs.
func (c *scene) idle(dataSource string) {
	c.t.Helper()
	server.Until(c.t, "the tasks of ["+dataSource+"] have ended", func() bool {
		got, err := c.s.Query(context.Background(),
			"SELECT COUNT(*) FROM sys.tasks WHERE datasource = '"+dataSource+"' AND status = 'RUNNING'")
		return err == nil && fmt.Sprint(got) == "[[0]]"
	})
}

// play replays a family. Before says by the name of an exchange what comes before it.
func (c *scene) play(family string, before map[string]func()) {
	t := c.t
	list := pending.Read(t, "testdata/"+family+"_pending.txt")
	differs := pending.Read(t, "testdata/"+family+"_differs.txt")
	outcome, wanted := pending.Outcome{}, pending.Outcome{}
	exchanges, err := golden.Load(filepath.Join(server.Shared(t), "golden", family))
	if err != nil {
		t.Fatal(err)
	}
	passed := 0
	for _, e := range exchanges {
		if f := before[e.Name]; f != nil {
			delete(before, e.Name)
			f()
		}
		switch e.Name {
		case "status-updated-reading": // what was told to publish may have published
			e.SetMask("$.payload.publishingTasks", "any")
		case "slots-stats": // any of the twelve may be the one that runs
			e.SetMask("$['0']", "keys")
		}
		r := c.player.Play(t.Context(), e)
		if r.Missing != "" {
			t.Fatalf("%s: nothing has remembered %s", e.Name, r.Missing)
		}
		if r.Skipped != "" {
			t.Logf("%s is not replayed: %s", e.Name, r.Skipped)
			continue
		}
		if r.Difference == "" {
			passed++
		} else {
			t.Logf("%s: %s", e.Name, r.Difference)
		}
		if differs.Has(e.Name) {
			wanted[e.Name] = r.Difference
		} else {
			outcome[e.Name] = r.Difference
		}
	}
	if len(before) > 0 {
		t.Errorf("no exchange is there for %d steps", len(before))
	}
	t.Logf("%d of %d exchanges answered like the recording", passed, len(exchanges))
	list.Settle(t, outcome, true, *update)
	differs.Settle(t, wanted, true, *update)
}

// TestStreamingExchanges replays the life of one supervisor.
func TestStreamingExchanges(t *testing.T) {
	t.Parallel()
	c := newScene(t)
	const id = "g_stream"
	remember := func(name string, s state, task int) { c.player.Remember(name, s.ActiveTasks[task].ID) }
	c.play("streaming", map[string]func(){
		"status-empty-topic": func() { c.reads(id, 1) },
		"sys-tasks-live": func() {
			c.produce("g_events", 0, c.rows[:300]...)
			c.produce("g_events", 1, c.rows[300:500]...)
			c.produce("g_events", 0, c.rows[600:605]...)
			c.count(id, 505)
			remember("t1", c.measured(id, map[string]int64{"0": 305, "1": 200}), 0)
		},
		"count-after-parse-errors": func() {
			c.produce("g_events", 0, `not json`, `{"time":"oops","channel":"#x"}`, `{"channel":"no time"}`, `{}`, ``, "null",
				`{"time":"2015-09-12T01:00:00Z","channel":"#ok","added":"12x"}`,
				`{"time":"2015-09-12T01:00:00Z","channel":"#two"}{"time":"2015-09-12T01:00:01Z","channel":"#two"}`,
				`[{"time":"2015-09-12T01:00:00Z","channel":"a","added":1}]`, `[{"time":"2015-09-12T01:00:00Z","channel":"b","added":1}]`)
			c.count(id, 510)
		},
		"sys-segments-published": func() {
			server.Until(t, "the segment is published", func() bool {
				got, err := c.s.Query(context.Background(), "SELECT COUNT(*) FROM sys.segments WHERE datasource = 'g_stream' "+
					"AND is_published = 1 AND is_available = 1 AND is_realtime = 0")
				return err == nil && fmt.Sprint(got) == "[[1]]"
			})
		},
		"status-after-handoff": func() { c.measured(id, map[string]int64{"0": 315, "1": 200}) },
		"update-back": func() {
			c.produce("g_events", 1, c.rows[605:705]...)
			c.count(id, 610)
		},
		"status-just-updated": func() {
			c.reads(id, 1)
			c.produce("g_events", 1, c.rows[705:805]...)
			c.count(id, 710)
			remember("t3", c.measured(id, map[string]int64{"0": 315, "1": 400}), 0)
			c.post("", c.recorded("update-back"))
		},
		"status-updated-reading": func() { remember("t4", c.reads(id, 1), 0) },
		"suspend": func() {
			c.produce("g_events", 0, c.rows[805:855]...)
			c.count(id, 760)
		},
		"status-suspended-idle": func() {
			c.until(id, "suspended", func(s state) bool { return s.State == "SUSPENDED" && len(s.PublishingTasks) == 0 })
			c.idle(id)
		},
		"status-resumed": func() {
			c.produce("g_events", 0, c.rows[855:905]...)
			c.count(id, 810)
			c.measured(id, map[string]int64{"0": 415, "1": 400})
		},
		"stats-two-tasks": func() { c.reads(id, 2) },
		"reset-offsets": func() {
			s := c.measured(id, map[string]int64{"0": 415, "1": 400})
			for i, a := range s.ActiveTasks {
				if _, ok := a.StartingOffsets["0"]; ok {
					remember("t5", s, i)
				}
			}
		},
		"state-after-reset": func() { c.reads(id, 2) },
		"late-stats": func() {
			now := time.Now().UTC()
			for i := range 10 {
				at := now.Add(-time.Duration(i) * 24 * time.Hour) // three are not too old
				row := fmt.Sprintf(`{"time":"%s","channel":"#late","page":"p","user":"u","added":%d}`, at.Format(time.RFC3339), i)
				c.produce("g_late", 0, row)
			}
			c.post("", lateSpec)
			c.count("g_late", 3)
			c.measured("g_late", map[string]int64{"0": 10})
		},
		"terminated-history": func() {
			c.idle(id)
			parts := kadm.NewClient(c.client)
			if _, err := parts.UpdatePartitions(t.Context(), 3, "g_events"); err != nil {
				t.Fatal(err)
			}
		},
		"status-created-again": func() { c.reads(id, 1) },
		"complete-tasks":       func() { c.idle(id) },
	})
}

// lateSpec rejects what is older than sixty hours.
const lateSpec = `{"type":"kafka","spec":{"ioConfig":{"type":"kafka","consumerProperties":{"bootstrap.servers":"` + recordedBroker + `"},
	"topic":"g_late",
	"inputFormat":{"type":"json"},"useEarliestOffset":true,"period":"PT2S","startDelay":"PT1S","lateMessageRejectionPeriod":"PT60H"},
	"tuningConfig":{"type":"kafka","offsetFetchPeriod":"PT5S"},
	"dataSchema":{"dataSource":"g_late","timestampSpec":{"column":"time","format":"iso"},
	"dimensionsSpec":{"dimensions":["channel","page","user",{"type":"long","name":"added"}]},
	"granularitySpec":{"queryGranularity":"none","rollup":false,"segmentGranularity":"day"}}}}`

// recorded returns the body of an exchange of the family streaming.
func (c *scene) recorded(name string) string {
	c.t.Helper()
	exchanges, err := golden.Load(filepath.Join(server.Shared(c.t), "golden", "streaming"))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, e := range exchanges {
		if e.Name == name {
			return string(e.Request.Body)
		}
	}
	c.t.Fatalf("there is no exchange [%s]", name)
	return ""
}

// faultSpec is a specification of the family stream-faults.
func faultSpec(dataSource, topic, servers, io, dimensions string) string {
	return fmt.Sprintf(`{"type":"kafka","spec":{"ioConfig":{"type":"kafka",
		"consumerProperties":{"default.api.timeout.ms":"2000","request.timeout.ms":"2000",
		"bootstrap.servers":"%s"},"topic":"%s","inputFormat":{"type":"json"},"useEarliestOffset":true,"period":"PT1S","startDelay":"PT1S",
		"completionTimeout":"PT2M"%s},"tuningConfig":{"type":"kafka","offsetFetchPeriod":"PT5S","maxSavedParseExceptions":5,
		"shutdownTimeout":"PT5S",
		"httpTimeout":"PT2S"},"dataSchema":{"dataSource":"%s","timestampSpec":{"column":"time","format":"iso"},
		"dimensionsSpec":{"dimensions":[%s]},
		"granularitySpec":{"queryGranularity":"none","rollup":false,"segmentGranularity":"day"}}}}`, servers, topic, io, dataSource, dimensions)
}

// TestStreamFaultExchanges replays what goes wrong: no broker, no topic, no format, tasks that
// fail, offsets that are not there, too few slots, a broker that goes away.
func TestStreamFaultExchanges(t *testing.T) {
	t.Parallel()
	c := newScene(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() }) // nobody reads
	dead := silent.Addr().String()
	const dimensions = `"channel","page","user",{"type":"long","name":"added"}`
	one := func(s state) bool { return len(s.ActiveTasks) == 1 && s.ActiveTasks[0].StartTime != nil }
	c.produce("g_f1", 0, c.rows[:100]...)
	c.produce("g_f3", 0, c.rows[:50]...)
	c.play("stream-faults", map[string]func(){
		"create-no-topic": func() { c.post("", faultSpec("g_nobroker", "g_f1", dead, "", dimensions)) },
		"no-broker-early-status": func() {
			c.post("", faultSpec("g_dim", "g_f1", c.broker, "", `"channel",{"type":"frob","name":"page"}`))
			c.until("g_nobroker", "it connects", func(s state) bool {
				return s.DetailedState == "CONNECTING_TO_STREAM" && len(s.RecentErrors) == 0
			})
		},
		"no-broker-health": func() {
			for _, id := range []string{"g_nobroker", "g_notopic"} {
				c.until(id, "unhealthy", func(s state) bool { return s.DetailedState == "UNABLE_TO_CONNECT_TO_STREAM" })
			}
			c.until("g_dim", "reads", one)
		},
		"no-broker-suspended-status": func() {
			c.post("/g_nobroker/suspend", "")
			c.until("g_nobroker", "it tries", func(s state) bool {
				return s.DetailedState == "CONNECTING_TO_STREAM" && len(s.RecentErrors) == 1
			})
		},
		"create-failing": func() {
			for _, id := range []string{"g_nobroker", "g_notopic", "g_noformat"} {
				c.post("/"+id+"/terminate", "")
			}
			c.produce("g_f2", 0, "bad", "worse")
		},
		"failing-parse-errors": func() {
			server.Until(t, "tasks have failed", func() bool {
				got, err := c.s.Query(context.Background(), "SELECT task_id FROM sys.tasks WHERE datasource = 'g_fail' "+
					"AND status = 'FAILED' ORDER BY created_time LIMIT 2")
				if err == nil && len(got) == 2 {
					c.player.Remember("t_fail", fmt.Sprint(got[0][0]))
				}
				return err == nil && len(got) == 2
			})
		},
		"range-reset-beyond": func() { c.measured("g_range", map[string]int64{"0": 100}) },
		"range-beyond-status": func() {
			c.until("g_range", "it waits behind the end", func(s state) bool { return one(s) && s.MinimumLag["0"] == -99900 })
		},
		"range-status-back": func() {
			c.until("g_range", "it reads again", func(s state) bool {
				return one(s) && s.ActiveTasks[0].StartingOffsets["0"] == 60 && s.ActiveTasks[0].CurrentOffsets["0"] == 100 && s.MinimumLag["0"] == 0
			})
		},
		"range-resume": func() {
			c.until("g_range", "suspended", func(s state) bool { return s.State == "SUSPENDED" && len(s.PublishingTasks) == 0 })
			c.post("/g_range/resetOffsets", `{"type":"kafka","partitions":{"type":"end","stream":"g_f1","partitionOffsetMap":{"0":5}}}`)
			offsets := kadm.Offsets{}
			offsets.AddOffset("g_f1", 0, 30, -1)
			if _, err := kadm.NewClient(c.client).DeleteRecords(t.Context(), offsets); err != nil {
				t.Fatal(err)
			}
		},
		"range-lost-health": func() {
			c.until("g_range", "unhealthy", func(s state) bool { return s.DetailedState == "UNABLE_TO_CONNECT_TO_STREAM" })
		},
		"range-after-reset-status": func() { c.until("g_range", "it reads from the first record", one) },
		"kill-task": func() {
			c.post("", faultSpec("g_kill", "g_f3", c.broker, "", dimensions))
			c.count("g_kill", 50)
			c.player.Remember("t_k", c.until("g_kill", "reads", one).ActiveTasks[0].ID)
		},
		"killed-health": func() { c.until("g_kill", "another reads", one) },
		"slots-stats": func() {
			c.player.Remember("t_k2", c.until("g_kill", "another reads", one).ActiveTasks[0].ID)
			c.post("", faultSpec("g_slots", "g_f3", c.broker, `,"replicas":12`, dimensions))
			c.until("g_slots", "one of twelve reads", func(s state) bool {
				n := 0
				for _, a := range s.ActiveTasks {
					if a.StartTime != nil {
						n++
					}
				}
				return len(s.ActiveTasks) == 12 && n == 1
			})
			c.count("g_slots", 50)
		},
		"outage-create": func() {
			c.measured("g_kill", map[string]int64{"0": 50})
			c.away.Store(true)
		},
		"outage-status": func() {
			c.until("g_outage", "unhealthy", func(s state) bool { return s.DetailedState == "UNABLE_TO_CONNECT_TO_STREAM" })
		},
		"recovered-health": func() {
			c.away.Store(false)
			c.produce("g_f3", 0, c.rows[50:60]...)
			c.until("g_outage", "healthy", func(s state) bool { return s.State == "RUNNING" })
			c.measured("g_outage", map[string]int64{"0": 60})
		},
	})
}
