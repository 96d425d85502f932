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

// Roles are all of them, in the order in which a process names its own.
var Roles = []string{Router, Coordinator, Broker, Historical, Overlord, Indexer}

// ParseRoles reads the names of roles, for which worker is another of indexer. None are all.
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

// Protocol is the version of what processes say to each other. This release speaks with those of
// the same and of the one before; dispatch.Version is its version of fragments. Bump both together
// when old and new would misunderstand each other, and keep what the one before understands.
const Protocol = 3

// Member is a process in one of its roles.
type Member struct {
	Role string `json:"-"`
	// Holder is the process: members with the same are one.
	Holder string `json:"-"`
	Host   string `json:"host"`
	// Port is that of plain HTTP, TLSPort that of HTTPS; 0: there is none.
	Port    int `json:"port"`
	TLSPort int `json:"tlsPort,omitempty"`
	// Started is in milliseconds.
	Started  int64  `json:"started"`
	Version  string `json:"version"`
	Protocol int    `json:"protocol"`
	// Revision is that of the sources; empty: the build does not say.
	Revision string `json:"revision,omitempty"`
	// Bound says that the process listens at its host only, and not on all interfaces.
	Bound bool `json:"bindOnHost,omitempty"`
	// Service is the name of what the process is one of, as its settings say; empty: that of its role.
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
	// Capacity is how many tasks a worker runs at once, Category what they choose it by.
	Capacity int    `json:"capacity,omitempty"`
	Category string `json:"category,omitempty"`
	// LookupTier names the lookups that the process holds; empty: none.
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

// ServiceName returns the name of what the process is one of.
func (m *Member) ServiceName() string { return cmp.Or(m.Service, "service/"+m.Role) }

// URL returns the address in front of paths.
func (m *Member) URL() string {
	if m.TLSPort > 0 {
		return "https://" + m.Address()
	}
	return "http://" + m.Address()
}

// View is the members that a process knows of. All methods are safe for use by many goroutines.
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

// Members returns those in a role, or with the role empty all, sorted by role and address. The
// slice is the caller's.
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

// Changed returns a channel that is closed when the members are others than now.
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

// Announcements is where members announce themselves.
type Announcements interface {
	Announce(ctx context.Context, holder string, members []metastore.Member, ttl time.Duration) error
	RenewMembers(ctx context.Context, holder string, ttl time.Duration) (int64, error)
	Withdraw(ctx context.Context, holder string) error
	Members(ctx context.Context) ([]metastore.Member, error)
	MembersChanged() <-chan struct{}
}

// Membership is the part that a process has in a cluster: its own members and its view of all.
type Membership struct {
	Store Announcements
	// Holder is the identity of the process.
	Holder string
	// Own are the members of this process.
	Own []Member
	// TTL is how long an announcement lasts that is not renewed.
	TTL   time.Duration
	View  *View
	Clock clock.Clock
	Log   *slog.Logger

	leaving struct {
		sync.Mutex // held while the announcement is renewed, which Leave waits for
		done       bool
	}
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

// Join announces the process and looks who else is there. A process whose protocol is too far from
// that of one that runs is refused.
func (m *Membership) Join(ctx context.Context) error {
	if err := m.look(ctx); err != nil {
		return err
	}
	for _, o := range m.View.Members("") {
		if own := m.protocol(); o.Holder != m.Holder && !speaks(own, o.Protocol) {
			return fault.Conflict("This release speaks the protocols [%d] and [%d] with other processes, but the [%s] at [%s] (version [%s]), which runs, speaks "+
				"protocol [%d]. Upgrade one release at a time: first all processes to one that is between the two.",
				own-1, own, o.Role, o.Address(), o.Version, o.Protocol)
		}
	}
	if err := m.announce(ctx); err != nil {
		return err
	}
	return m.look(ctx)
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
	return m.Store.Announce(ctx, m.Holder, rows, m.TTL)
}

// Run renews the announcements and looks at those of others until ctx is done.
func (m *Membership) Run(ctx context.Context) error {
	ticker := m.Clock.NewTicker(m.TTL / 3)
	defer ticker.Stop()
	for {
		changed := m.Store.MembersChanged()
		work := m.look
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-ticker.C():
			work = m.round
		}
		if err := work(ctx); err != nil && ctx.Err() == nil {
			m.Log.WarnContext(ctx, "announcements could not be renewed or read; what was known stays in force", "error", err)
		}
	}
}

// renew renews the announcements, and makes those anew that have run out; not those of a process
// that has left, which others may ask for nothing any more.
func (m *Membership) renew(ctx context.Context) error {
	m.leaving.Lock()
	defer m.leaving.Unlock()
	if m.leaving.done {
		return nil
	}
	n, err := m.Store.RenewMembers(ctx, m.Holder, m.TTL)
	if err == nil && n < int64(len(m.Own)) {
		err = m.announce(ctx)
	}
	return err
}

func (m *Membership) round(ctx context.Context) error {
	err := m.renew(ctx)
	if err == nil {
		err = m.look(ctx)
	}
	if m.failing && err == nil {
		m.trustUntil = m.Clock.Now().Add(m.TTL)
	}
	m.failing = err != nil
	return err
}

// look reads the members.
func (m *Membership) look(ctx context.Context) error {
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
			m.Log.WarnContext(ctx, "an announcement can't be read", "role", r.Role, "address", r.Address, "error", err)
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

// Leave withdraws the announcements for good: others ask this process for nothing new while it ends
// what is under way, however long that takes.
func (m *Membership) Leave(ctx context.Context) error {
	m.leaving.Lock()
	defer m.leaving.Unlock()
	m.leaving.done = true
	return m.Store.Withdraw(ctx, m.Holder)
}
