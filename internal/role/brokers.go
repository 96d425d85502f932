package role

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/hengedb/henge/internal/api/avatica"
	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/duty"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/router"
)

// brokers passes queries on to Brokers, to that of this process without a detour.
type brokers struct {
	n      *Node
	choice *router.Choice
	rules  *duty.Rules
	here   http.Handler // the Broker of this process; nil: it has none
	limit  int64        // of the body that is read in order to choose
	turn   atomic.Uint64
}

// ServeHTTP implements edge.Handler.
func (b *brokers) ServeHTTP(w http.ResponseWriter, r *http.Request) error {
	if avatica.IsPath(r.URL.Path) {
		return b.toConnection(w, r)
	}
	service, err := b.chosen(r)
	edge.Decoded(r.Context())
	if err != nil {
		return err
	}
	own := func(m cluster.Member) bool { return m.Role == cluster.Broker && m.ServiceName() == service }
	if b.here != nil && slices.ContainsFunc(b.n.peers.membership.Own, own) {
		b.here.ServeHTTP(w, r)
		return nil
	}
	to := &forward{n: b.n, targets: func() []string { return b.addresses(service) }, none: func(*http.Request) error {
		return fault.Runtime("No Broker of service [%s] is available", service)
	}}
	return to.ServeHTTP(w, r)
}

// toConnection passes a request of a JDBC driver on to the Broker that has its connection: the same
// for all requests of it, as long as the Brokers stay the same.
func (b *brokers) toConnection(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, b.limit+1))
	edge.Decoded(r.Context())
	if err != nil {
		return fmt.Errorf("reading a request in order to pass it on: %w", err)
	}
	id := avatica.ConnectionOf(r.URL.Path, body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	members := b.n.peers.members.Members(cluster.Broker)
	slices.SortFunc(members, func(x, y cluster.Member) int {
		return cmp.Or(cmp.Compare(rendezvous(id, y.Address()), rendezvous(id, x.Address())), cmp.Compare(x.Address(), y.Address()))
	})
	if b.here != nil && (len(members) == 0 || slices.Contains(b.n.peers.membership.Own, members[0])) {
		b.here.ServeHTTP(w, r)
		return nil
	}
	to := &forward{n: b.n, targets: func() []string {
		var out []string
		for _, m := range members[:min(1, len(members))] {
			out = append(out, m.URL())
		}
		return out
	}, none: func(*http.Request) error {
		return fault.Runtime("No Broker is available")
	}}
	return to.ServeHTTP(w, r)
}

// rendezvous is the score of a server for a name: of several servers the one with the highest gets
// it.
func rendezvous(name, server string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // it does not fail
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(server))
	return h.Sum64()
}

// chosen returns the service of the Brokers that get a request. A body that can't be read as a
// query is theirs to refuse.
func (b *brokers) chosen(r *http.Request) (string, error) {
	sql := strings.HasPrefix(r.URL.Path, "/service/v2/sql")
	if r.Method != http.MethodPost || !strings.HasPrefix(r.URL.Path, "/service/v2") || !b.choice.Chooses() || sql && !b.choice.ChoosesSQL() {
		return b.choice.Default(), nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, b.limit))
	if err != nil {
		return "", fmt.Errorf("reading a query in order to pass it on: %w", err)
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
	if sql {
		var statement struct{ Context map[string]any }
		if json.Unmarshal(body, &statement) != nil {
			return b.choice.Default(), nil
		}
		return b.choice.SQL(statement.Context), nil
	}
	q, err := native.Decode(body)
	if err != nil {
		return b.choice.Default(), nil
	}
	rules, _ := b.rules.Lists()
	return b.choice.Native(q, rules, clock.Millis(b.n.o.Clock)), nil
}

// addresses returns where Brokers answer: those of a service in turn, and then those that get what
// nothing else decides.
func (b *brokers) addresses(service string) []string {
	turn := b.turn.Add(1)
	var out []string
	for _, name := range slices.Compact([]string{service, b.choice.Default()}) {
		var of []string
		for _, m := range b.n.peers.members.Members(cluster.Broker) {
			if m.ServiceName() == name {
				of = append(of, m.URL())
			}
		}
		if len(of) > 0 {
			first := int(turn % uint64(len(of)))
			out = append(append(out, of[first:]...), of[:first]...)
		}
	}
	return out
}

// listed answers which Brokers the Router knows, by their services.
func (b *brokers) listed(w http.ResponseWriter, r *http.Request) error {
	own := edge.DialectOf(r.Context()).Name
	out := map[string][]string{}
	if rest, ours := strings.CutPrefix(b.choice.Default(), obs.Product+"/"); ours {
		out[own+"/"+rest] = []string{}
	}
	for _, m := range b.n.peers.members.Members(cluster.Broker) {
		name := m.ServiceName()
		if rest, ours := strings.CutPrefix(name, obs.Product+"/"); ours {
			name = own + "/" + rest
		}
		out[name] = append(out[name], m.Address())
	}
	edge.WriteJSON(w, http.StatusOK, out)
	return nil
}
