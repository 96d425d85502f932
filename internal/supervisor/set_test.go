package supervisor

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/hengedb/henge/internal/metastore"
)

// versions is a store of the versions of one supervisor, the newest first.
type versions struct {
	Store
	mu  sync.Mutex
	all []metastore.SupervisorVersion
}

func (s *versions) PutSupervisor(_ context.Context, _ metastore.Fence, v metastore.SupervisorVersion, _ *metastore.AuditEntry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append([]metastore.SupervisorVersion{v}, s.all...)
	return nil
}

func (s *versions) SupervisorHistory(context.Context, string) ([]metastore.SupervisorVersion, error) {
	runtime.Gosched() // lets others come between
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all, nil
}

// Of several that make the same supervisor at once one makes it: the others would restart it.
func TestASupervisorThatManyMakeIsMadeOnce(t *testing.T) {
	for range 50 {
		store := &versions{}
		set := New(store, map[string]Kind{"noop": Noop{}})
		var making sync.WaitGroup
		for range 8 {
			making.Go(func() {
				if _, _, err := set.Put(t.Context(), json.RawMessage(`{"type":"noop","id":"a","dataSources":["b"]}`), true, nil); err != nil {
					t.Error(err)
				}
			})
		}
		making.Wait()
		if len(store.all) != 1 {
			t.Fatalf("the supervisor has [%d] versions", len(store.all))
		}
	}
}

// Whatever the text, reading it ends with a specification that has an id and is written as it is
// read, or with a fault.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"type":"noop","id":"a","dataSources":["b"]}`, `{"type":"NoopSupervisorSpec","dataSources":["b"]}`, `{"type":"noop","id":null}`, `{"type":"x"}`, `[]`, `{`,
		`{"type":"noop","id":"a","x":"[[[\"[["}`, strings.Repeat(`{"type":`, 300),
	} {
		f.Add(seed)
	}
	set := New(nil, map[string]Kind{"noop": Noop{}, NoopType: Noop{}})
	f.Fuzz(func(t *testing.T, text string) {
		v, err := set.parse(json.RawMessage(text))
		if err != nil {
			return
		}
		if v.ID() == "" {
			t.Fatal("no id")
		}
		first, err := json.Marshal(v.Spec)
		if err != nil {
			t.Fatal(err)
		}
		again, err := set.parse(first)
		if err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		if second, err := json.Marshal(again.Spec); err != nil || string(second) != string(first) {
			t.Fatalf("%s became %s, %v", first, second, err)
		}
	})
}
