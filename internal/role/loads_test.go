package role

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/metastore"
)

// unheard are announcements of which nobody is told.
type unheard struct {
	members []metastore.Member
	fails   int // so often they can't be read
}

func (*unheard) Announce(context.Context, string, []metastore.Member, time.Duration) error {
	return nil
}
func (*unheard) RenewMembers(context.Context, string, time.Duration) (int64, error) { return 0, nil }
func (*unheard) Withdraw(context.Context, string) error                             { return nil }
func (*unheard) MembersChanged() <-chan struct{}                                    { return nil }

func (u *unheard) Members(context.Context) ([]metastore.Member, error) {
	if u.fails--; u.fails >= 0 {
		return nil, errors.New("connection refused")
	}
	return u.members, nil
}

// A load waits for the Brokers that are announced when it is published, also for those of which the
// process that runs it has not heard, and for none that has withdrawn.
func TestALoadWaitsForBrokersOfWhichNobodyHasHeard(t *testing.T) {
	broker := func(holder string, asked chan<- string) metastore.Member {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked <- r.URL.RequestURI()
			_, _ = w.Write([]byte("{}"))
		}))
		t.Cleanup(server.Close)
		at := netip.MustParseAddrPort(strings.TrimPrefix(server.URL, "http://"))
		payload, err := json.Marshal(cluster.Member{Host: at.Addr().String(), Port: int(at.Port())})
		if err != nil {
			t.Fatal(err)
		}
		return metastore.Member{
			Role: cluster.Broker, Address: at.String(), Holder: holder, Epoch: 1, Payload: payload, Held: true, Left: time.Minute,
		}
	}
	joined, left := make(chan string, 2), make(chan string, 2)
	store := &unheard{members: []metastore.Member{broker("left", left)}}
	view := cluster.NewView()
	n := &Node{o: Options{Clock: clock.System(), Log: slog.New(slog.DiscardHandler)}}
	n.peers.client, n.peers.members = http.DefaultClient, view
	n.peers.membership = &cluster.Membership{Store: store, Holder: "own", TTL: time.Minute, View: view, Clock: n.o.Clock, Log: n.o.Log}
	if err := n.peers.membership.Look(t.Context()); err != nil || len(view.Members(cluster.Broker)) != 1 {
		t.Fatalf("the view has %v: %v", view.Members(""), err)
	}
	store.members, store.fails = []metastore.Member{broker("joined", joined)}, 1
	s := &services{n: n}
	if err := s.awaitBrokers(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	if len(joined) != 1 || <-joined != publishedPath+"?number=7" {
		t.Error("a Broker that has joined was not waited for")
	}
	if len(left) != 0 {
		t.Error("a Broker that has withdrawn was waited for")
	}
	store.fails = 1 << 30
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.awaitBrokers(ctx, 8); !errors.Is(err, context.Canceled) {
		t.Errorf("while the Brokers can't be read a load ends with %v", err)
	}
}
