package role_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/role"
	"github.com/hengedb/henge/internal/testkit/store"
)

// A Broker announces itself when it has asked the workers what rows they have: a Router that hears
// of it before would get answers without them.
func TestABrokerIsAnnouncedWhenItKnowsLiveRows(t *testing.T) {
	const worker = "127.0.0.1:9"
	store := store.Open(t, clock.System())
	payload, err := json.Marshal(cluster.Member{Host: "127.0.0.1", Port: 9})
	if err != nil {
		t.Fatal(err)
	}
	members := []metastore.Member{{Role: cluster.Indexer, Address: worker, Payload: payload}}
	if err := store.Announce(t.Context(), "worker", members, time.Hour); err != nil {
		t.Fatal(err)
	}
	announced := func() bool {
		members, err := store.Members(t.Context())
		if err != nil {
			t.Error(err)
		}
		return slices.ContainsFunc(members, func(m metastore.Member) bool { return m.Role == cluster.Broker })
	}
	asked := make(chan struct{})
	var once sync.Once
	dial := func(_ context.Context, _, address string) (net.Conn, error) {
		if address == worker {
			once.Do(func() {
				defer close(asked)
				for range 20 { // it would come before long
					if announced() {
						t.Error("the Broker is announced, and does not know the rows of the worker")
						return
					}
					_ = clock.System().Sleep(t.Context(), 10*time.Millisecond)
				}
			})
		}
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("nobody is there")}
	}
	o := role.Options{Roles: []string{cluster.Broker}, Store: store, Dial: dial}
	n, _ := started(t, o, "service.server.http.unannouncePropagationDelay=PT0S")
	select {
	case <-asked:
	default:
		t.Error("the worker was not asked")
	}
	if !announced() {
		t.Error("the Broker is not announced")
	}
	if err := n.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
