package lookup

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

func TestTopic(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "countries"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.DefaultProduceTopic("countries"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	put := func(key, value string) {
		t.Helper()
		r := &kgo.Record{Key: []byte(key), Value: []byte(value)}
		switch {
		case key == "":
			r.Key = nil
		case value == "":
			r.Value = nil
		}
		if err := p.ProduceSync(context.Background(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	text := fmt.Sprintf(`{"type":"kafka","kafkaTopic":"countries","kafkaProperties":{"bootstrap.servers":"%s"}}`, c.ListenAddrs()[0])
	f, err := parse(json.RawMessage(text))
	if err != nil || f.period == 0 {
		t.Fatal(f, err)
	}
	mark, out := "", map[string]string{}
	reading := func() (map[string]string, bool) {
		t.Helper()
		changed := false
		next, err := f.follower.follow(t.Context(), nil, mark, func(anew bool) func(key string, value *string) error {
			if anew != (mark == "") {
				t.Errorf("begins anew: %t", anew)
			}
			changed = anew
			return func(key string, value *string) error {
				if changed = true; value == nil {
					delete(out, key)
				} else {
					out[key] = *value
				}
				return nil
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		mark = next
		return out, changed
	}
	if got, changed := reading(); !changed || len(got) != 0 {
		t.Fatal(got, changed)
	}
	put("de", "Germany")
	put("fr", "Gaul")
	put("fr", "France")
	put("", "nobody")
	if got, changed := reading(); !changed || !maps.Equal(got, map[string]string{"de": "Germany", "fr": "France"}) {
		t.Fatal(got, changed)
	}
	put("", "nobody either")
	if got, changed := reading(); changed {
		t.Fatal(got, changed)
	}
	put("de", "")
	put("it", "Italy")
	if got, changed := reading(); !changed || !maps.Equal(got, map[string]string{"fr": "France", "it": "Italy"}) {
		t.Fatal(got, changed)
	}
}

func TestTopicsThatAreWrong(t *testing.T) {
	for text, why := range map[string]string{
		`{"type":"kafka","kafkaProperties":{"bootstrap.servers":"a:1"}}`: "needs a [kafkaTopic]",
		`{"type":"kafka","kafkaTopic":"t"}`:                              "needs [kafkaProperties]",
		`{"type":"kafka","kafkaTopic":[]}`:                               "is not readable",
	} {
		if _, err := parse(json.RawMessage(text)); fault.Find(err) == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %s", text, err, why)
		}
	}
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for servers, why := range map[string]string{
		c.ListenAddrs()[0]: "Topic [none] of a lookup has no partition", "127.0.0.1:1": "Timeout expired while fetching topic metadata",
		"x": "Property [bootstrap.servers] of consumerProperties can't be used",
	} {
		f, err := parse(json.RawMessage(`{"type":"kafka","kafkaTopic":"none","kafkaProperties":{"bootstrap.servers":"` + servers + `"}}`))
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.follower.follow(t.Context(), nil, "", nil)
		if found := fault.Find(err); found == nil || !strings.Contains(found.Message, why) {
			t.Errorf("%s: %v, want %s", servers, err, why)
		}
	}
}

// TestATopicIsFollowed: a Set has what is produced at once, makes no new table of a large one for
// it, and gives back all memory in the end.
func TestATopicIsFollowed(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "countries"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.DefaultProduceTopic("countries"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	put := func(values ...string) {
		t.Helper()
		var records []*kgo.Record
		for i := 0; i < len(values); i += 2 {
			r := &kgo.Record{Key: []byte(values[i])}
			if values[i+1] != "" {
				r.Value = []byte(values[i+1])
			}
			records = append(records, r)
		}
		if err := p.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	var many []string
	for i := range 5000 {
		many = append(many, fmt.Sprint("k", i), fmt.Sprint("v", i))
	}
	put(many...)
	memory := budget.Root(64 << 20)
	s := NewSet(Options{Memory: memory, Clock: clock.System(), Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	s.Add(ctx, "countries", Container{Version: "1", Factory: json.RawMessage(
		`{"type":"kafka","kafkaTopic":"countries","kafkaProperties":{"bootstrap.servers":"` + c.ListenAddrs()[0] + `"}}`)})
	until := func(what string, so func(t *Table) bool) *Table {
		t.Helper()
		for deadline := time.After(20 * time.Second); ; {
			if table, err := s.View().Table("countries"); err == nil && so(table) {
				return table
			}
			select {
			case <-deadline:
				t.Fatalf("%s: it never was so", what)
			case <-time.After(time.Millisecond):
			}
		}
	}
	first := until("all is there", func(t *Table) bool { return t.Len() == 5000 })
	held := memory.Used()
	put("k1", "other", "k2", "", "new", "one")
	second := until("what is new is there", func(t *Table) bool { _, ok := t.Get("new"); return ok })
	if one, _ := second.Get("k1"); one != "other" || second.Len() != 5000 {
		t.Errorf("k1 is %s of %d keys", one, second.Len())
	}
	if _, ok := second.Get("k2"); ok || reflect.ValueOf(first.values).Pointer() != reflect.ValueOf(second.values).Pointer() {
		t.Error("k2 is still there, or the table was made anew")
	}
	if one, _ := first.Get("k1"); one != "v1" {
		t.Errorf("the table of a query has changed: %s", one)
	}
	if now := memory.Used(); now < held || now > held+held/2 {
		t.Errorf("[%d] bytes are held, before it were [%d]", now, held)
	}
	for i := range 1100 { // more changes than a table keeps
		many[2*i+1] = "again"
	}
	put(many[:2200]...)
	third := until("the changes are there", func(t *Table) bool { v, _ := t.Get("k1099"); return v == "again" })
	if len(third.changes) > 0 || third.Len() != 5001 {
		t.Errorf("the table has [%d] changes and [%d] keys", len(third.changes), third.Len())
	}
	s.Drop("countries")
	put("x", "y") // ends its reading
	for deadline := time.After(20 * time.Second); memory.Used() > 0; {
		select {
		case <-deadline:
			t.Fatalf("[%d] bytes are held", memory.Used())
		case <-time.After(time.Millisecond):
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestTablesWithChanges compares tables with maps, at random.
func TestTablesWithChanges(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	want := map[string]string{"a": "1"}
	table := NewTable(maps.Clone(want))
	for range 300 {
		changes := map[string]*string{}
		for range random.IntN(30) {
			key := fmt.Sprint(random.IntN(3000))
			if changes[key] = nil; random.IntN(3) > 0 {
				value := fmt.Sprint(random.IntN(1000))
				changes[key] = &value
			}
		}
		before, old := table, maps.Clone(want)
		var err error
		if table, err = table.with(changes); err != nil {
			t.Fatal(err)
		}
		for k, v := range changes {
			if delete(want, k); v != nil {
				want[k] = *v
			}
		}
		for of, table := range map[*map[string]string]*Table{&want: table, &old: before} {
			got := maps.Collect(table.All())
			if !maps.Equal(got, *of) || table.Len() != len(*of) {
				t.Fatalf("seed %d: %d keys, want %d", seed, len(got), len(*of))
			}
		}
	}
}

// TestRefusedMemoryChangesNoTable: it is as it was, and takes the changes later.
func TestRefusedMemoryChangesNoTable(t *testing.T) {
	memory := budget.Root(2 << 20)
	b := newBuilder(memory)
	if err := b.add("a", "1"); err != nil {
		t.Fatal(err)
	}
	table, err := b.table()
	if err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("x", 3<<20)
	if _, err := table.with(map[string]*string{"a": &large}); err == nil {
		t.Error("more is taken than there is")
	}
	small := "2"
	next, err := table.with(map[string]*string{"a": &small})
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := next.Get("a"); v != "2" {
		t.Errorf("it is %s", v)
	}
	next.close()
	if memory.Used() != 0 {
		t.Errorf("[%d] bytes are held", memory.Used())
	}
}
