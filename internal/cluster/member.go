package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
)

// The roles by their names in the interface. The worker that runs tasks is the indexer.
const (
	Router      = "router"
	Coordinator = "coordinator"
	Broker      = "broker"
	Historical  = "historical"
	Overlord    = "overlord"
	Indexer     = "indexer"
)

// Roles are all roles, in the order in which a process lists its own.
var Roles = []string{Router, Coordinator, Broker, Historical, Overlord, Indexer}

// ParseRoles parses the names of roles; worker is an alias of indexer. An empty list means all
// roles.
func ParseRoles(names []string) ([]string, error) {
	if len(names) == 0 {
		return Roles, nil
	}
	var out []string
	for _, r := range Roles {
		if slices.Contains(names, r) || r == Indexer && slices.Contains(names, "worker") {
			out = append(out, r)
		}
	}
	for _, name := range names {
		if name != "worker" && !slices.Contains(Roles, name) {
			return nil, fault.InvalidInput("Role [%s] is unknown; known are router, coordinator, broker, historical, overlord and worker", name)
		}
	}
	return out, nil
}

// Protocol is the version of the protocol between processes. This release supports the same version
// and the previous one; dispatch.Version is its version of fragments. Increase both together when
// old and new processes would misunderstand each other, and keep the support of the previous
// version.
const Protocol = 3

// Member is a process in one of its roles.
type Member struct {
	Role string `json:"-"`
	// Holder identifies the process: members with the same holder are one process.
	Holder string `json:"-"`
	Host   string `json:"host"`
	// Port is the port of plain HTTP, TLSPort the port of HTTPS; 0: not open.
	Port    int `json:"port"`
	TLSPort int `json:"tlsPort,omitempty"`
	// Started is in milliseconds.
	Started  int64  `json:"started"`
	Version  string `json:"version"`
	Protocol int    `json:"protocol"`
	// Revision is the revision of the sources; empty: not known.
	Revision string `json:"revision,omitempty"`
	// Bound is true if the process listens only at its host, and not on all interfaces.
	Bound bool `json:"bindOnHost,omitempty"`
	// Service is the service name in its settings; empty: the name of its role.
	Service string `json:"service,omitempty"`
	// Labels is a JSON object; empty: none.
	Labels     string `json:"labels,omitempty"`
	Processors int    `json:"processors"`
	// Memory is bytes.
	Memory int64 `json:"memory"`

	// Tier, Priority and MaxBytes are a Historical's.
	Tier     string `json:"tier,omitempty"`
	Priority int    `json:"priority,omitempty"`
	MaxBytes int64  `json:"maxBytes,omitempty"`
	// Capacity is the number of concurrent tasks of a worker, Category its category for strategies.
	Capacity int    `json:"capacity,omitempty"`
	Category string `json:"category,omitempty"`
	// LookupTier is the tier of its lookups; empty: it has none.
	LookupTier string `json:"lookupTier,omitempty"`
}

// Address returns host:port, of HTTPS where there is a port for it. It names the member.
func (m *Member) Address() string {
	return net.JoinHostPort(m.Host, strconv.Itoa(cmp.Or(m.TLSPort, m.Port)))
}

// PlainAddress returns host:port of plain HTTP; "": there is none.
func (m *Member) PlainAddress() string { return portOf(m.Host, m.Port) }

// SecureAddress returns host:port of HTTPS; "": there is none.
func (m *Member) SecureAddress() string { return portOf(m.Host, m.TLSPort) }

func portOf(host string, port int) string {
	if port <= 0 {
		return ""
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// ServiceName returns the service name of the process.
func (m *Member) ServiceName() string { return cmp.Or(m.Service, "service/"+m.Role) }

// URL returns the base URL.
func (m *Member) URL() string {
	if m.TLSPort > 0 {
		return "https://" + m.Address()
	}
	return "http://" + m.Address()
}

// View contains the members that a process knows. All methods are safe for use by many goroutines.
type View struct {
	mu struct {
		sync.Mutex
		members []Member
		changed chan struct{}
	}
}

// NewView returns a View of some members.
func NewView(members ...Member) *View {
	v := &View{}
	v.mu.members, v.mu.changed = members, make(chan struct{})
	return v
}

// Members returns the members in a role, or all if role is empty, sorted by role and address. The
// caller owns the slice.
func (v *View) Members(role string) []Member {
	v.mu.Lock()
	defer v.mu.Unlock()
	var out []Member
	for _, m := range v.mu.members {
		if role == "" || m.Role == role {
			out = append(out, m)
		}
	}
	return out
}

// Changed returns a channel that is closed when the members change.
func (v *View) Changed() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.mu.changed
}

func (v *View) set(members []Member) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if slices.Equal(v.mu.members, members) {
		return
	}
	v.mu.members = members
	close(v.mu.changed)
	v.mu.changed = make(chan struct{})
}

// Announcements stores the announcements of members.
type Announcements interface {
	Announce(ctx context.Context, holder string, members []metastore.Member, ttl time.Duration) error
	RenewMembers(ctx context.Context, holder string, ttl time.Duration) (int64, error)
	Withdraw(ctx context.Context, holder string) error
	Members(ctx context.Context) ([]metastore.Member, error)
	MembersChanged() <-chan struct{}
}

// Membership is the membership of a process in a cluster: its own members and its view of all
// members.
type Membership struct {
	Store Announcements
	// Holder is the identity of the process.
	Holder string
	// Own are the members of this process.
	Own []Member
	// TTL is the duration of an announcement that is not renewed.
	TTL   time.Duration
	View  *View
	Clock clock.Clock
	Log   *slog.Logger

	leaving sync.Mutex // held while the announcement is renewed, which Leave waits for
	term    struct {
		sync.Mutex
		number int64     // of announcements that others may have taken for gone in between
		until  time.Time // so long the announcement lasts
		left   bool
	}
	looking    sync.Mutex              // held while the members are read; guards what follows
	failing    bool                    // the last look failed
	trustUntil time.Time               // until then what ran out counts: nobody could renew
	until      map[announced]time.Time // how long each counts by what was left of it when it was read
}

// announced is an announcement, with all that changes when another process or another start makes
// it.
type announced struct {
	role, address, holder string
	epoch                 int64
}

// believed reports whether an announcement, read at an instant, counts: what was left of it when it
// was read lasts for as long by this process's clock, whatever the database's clock does meanwhile.
func (m *Membership) believed(r *metastore.Member, at time.Time) (until time.Time, counts bool) {
	until = m.until[announced{r.Role, r.Address, r.Holder, r.Epoch}]
	// More than a whole lease is a clock that has gone backward.
	if left := at.Add(min(r.Left, m.TTL)); left.After(until) {
		until = left
	}
	return until, r.Held || at.Before(until)
}

// Meet reads the other members. It fails if the protocol of this process is incompatible with that
// of a running process.
func (m *Membership) Meet(ctx context.Context) error {
	if err := m.Look(ctx); err != nil {
		return err
	}
	for _, o := range m.View.Members("") {
		if own := m.protocol(); o.Holder != m.Holder && !speaks(own, o.Protocol) {
			return fault.Conflict("This release speaks the protocols [%d] and [%d] with other processes, but the [%s] at [%s] (version [%s]), which runs, speaks "+
				"protocol [%d]. Upgrade one release at a time: first all processes to one that is between the two.",
				own-1, own, o.Role, o.Address(), o.Version, o.Protocol)
		}
	}
	return nil
}

// Join announces the process after it has met the others.
func (m *Membership) Join(ctx context.Context) error {
	if err := m.Meet(ctx); err != nil {
		return err
	}
	if err := m.announce(ctx); err != nil {
		return err
	}
	return m.Look(ctx)
}

// Term returns the number of the announcement, which changes whenever other processes may have
// missed this member. 0: they need not know it, because it has not joined yet or is about to
// withdraw.
func (m *Membership) Term() int64 {
	m.term.Lock()
	defer m.term.Unlock()
	if m.term.left {
		return 0
	}
	return m.term.number
}

// lasts notes that an announcement that was made anew or renewed lasts for the TTL from an instant.
func (m *Membership) lasts(from time.Time, anew bool) {
	m.term.Lock()
	defer m.term.Unlock()
	if anew || m.Clock.Now().After(m.term.until) {
		m.term.number++
	}
	m.term.until = from.Add(m.TTL)
}

// protocol is that of the process; 0: it is not known.
func (m *Membership) protocol() int {
	if len(m.Own) == 0 {
		return 0
	}
	return m.Own[0].Protocol
}

// speaks reports whether processes of two protocols understand each other: of the same release, or
// of one and the next.
func speaks(a, b int) bool { return a == 0 || b == 0 || max(a, b)-min(a, b) <= 1 }

func (m *Membership) announce(ctx context.Context) error {
	rows := make([]metastore.Member, len(m.Own))
	for i := range m.Own {
		payload, err := json.Marshal(&m.Own[i])
		if err != nil {
			return fmt.Errorf("encoding the announcement of role [%s]: %w", m.Own[i].Role, err)
		}
		rows[i] = metastore.Member{Role: m.Own[i].Role, Address: m.Own[i].Address(), Payload: payload}
	}
	at := m.Clock.Now()
	if err := m.Store.Announce(ctx, m.Holder, rows, m.TTL); err != nil {
		return err
	}
	m.lasts(at, true)
	return nil
}

// Run renews the announcements, if there are any, and reads those of other processes until ctx is
// done.
func (m *Membership) Run(ctx context.Context) error {
	ticker := m.Clock.NewTicker(m.TTL / 3)
	defer ticker.Stop()
	for {
		changed := m.Store.MembersChanged()
		work := m.Look
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-ticker.C():
			work = m.round
		}
		if err := work(ctx); err != nil && ctx.Err() == nil {
			m.Log.WarnContext(ctx, "failed to renew or read announcements; using the last known ones", "error", err)
		}
	}
}

// renew renews the announcements, and makes those anew that have run out; not those of a process
// that has not joined, or has left, which others may ask for nothing.
func (m *Membership) renew(ctx context.Context) error {
	m.leaving.Lock()
	defer m.leaving.Unlock()
	if m.Term() == 0 {
		return nil
	}
	at := m.Clock.Now()
	n, err := m.Store.RenewMembers(ctx, m.Holder, m.TTL)
	switch {
	case err != nil:
		return err
	case n < int64(len(m.Own)):
		return m.announce(ctx)
	}
	m.lasts(at, false)
	return nil
}

func (m *Membership) round(ctx context.Context) error {
	err := m.renew(ctx)
	m.looking.Lock()
	defer m.looking.Unlock()
	if err == nil {
		err = m.lookLocked(ctx)
	}
	if m.failing && err == nil {
		m.trustUntil = m.Clock.Now().Add(m.TTL)
	}
	m.failing = err != nil
	return err
}

// Look reads the members; afterwards the view contains all members that were announced before the
// call.
func (m *Membership) Look(ctx context.Context) error {
	m.looking.Lock()
	defer m.looking.Unlock()
	return m.lookLocked(ctx)
}

func (m *Membership) lookLocked(ctx context.Context) error {
	at := m.Clock.Now()
	rows, err := m.Store.Members(ctx)
	if err != nil {
		return err
	}
	before := m.View.Members("")
	trusted := m.failing || m.Clock.Now().Before(m.trustUntil)
	var out []Member
	known := make(map[announced]time.Time, len(rows))
	for i := range rows {
		r := &rows[i]
		until, counts := m.believed(r, at)
		known[announced{r.Role, r.Address, r.Holder, r.Epoch}] = until
		c := Member{}
		if err := json.Unmarshal(r.Payload, &c); err != nil {
			m.Log.WarnContext(ctx, "failed to read an announcement", "role", r.Role, "address", r.Address, "error", err)
			continue
		}
		c.Role, c.Holder = r.Role, r.Holder
		if counts || trusted && slices.Contains(before, c) {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Address(), b.Address()))
	})
	m.until = known
	m.View.set(out)
	return nil
}

// Discovered reports whether the process sees itself.
func (m *Membership) Discovered() bool {
	n := 0
	for _, c := range m.View.Members("") {
		if c.Holder == m.Holder {
			n++
		}
	}
	return n >= len(m.Own)
}

// Leave permanently withdraws the announcements: other processes do not send new requests while
// this process completes running ones.
func (m *Membership) Leave(ctx context.Context) error {
	m.leaving.Lock()
	defer m.leaving.Unlock()
	m.term.Lock()
	m.term.left = true
	m.term.Unlock()
	return m.Store.Withdraw(ctx, m.Holder)
}
