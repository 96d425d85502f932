package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/dispatch"
)

const (
	// pollTimeout is how long a Historical waits for something to tell, pollGrace what the network may
	// add.
	pollTimeout = 20 * time.Second
	pollGrace   = 10 * time.Second
	// pollRetry is how long after a failure a Historical is asked again.
	pollRetry = 500 * time.Millisecond
)

// Server is a Historical for queries.
type Server = dispatch.Server

// InventoryOptions configure an Inventory.
type InventoryOptions struct {
	View   *View
	Client *http.Client
	// Here is the Historical of this process with its log, or nil.
	Here *Local
	// Tiers rank the Historicals for queries of this process; nil: the highest priority first.
	Tiers *dispatch.Tiers
	// Clock is the clock for retries.
	Clock clock.Clock
	Log   *slog.Logger
}

// Local is a Historical of this process.
type Local struct {
	Address string
	Log     *Log
}

// Inventory tracks the segments of each Historical. All methods are safe for use by many
// goroutines.
type Inventory struct {
	o InventoryOptions

	mu struct {
		sync.Mutex
		servers  map[string]*server  // by address
		holdings map[string]*holding // by segment id; what nobody holds has none
		live     []*dispatch.Server
		changed  chan struct{}
	}
}

// holding is a segment that Historicals hold. There are millions: what each server holds is found
// by looking at all.
type holding struct {
	id string
	by []*dispatch.Server // replaced, never changed
}

func (h *holding) isBy(s *server) bool { return h != nil && slices.Contains(h.by, s.as) }

// server is a Historical that is followed.
type server struct {
	member  Member
	as      *dispatch.Server
	held    int // segments
	used    int64
	at      Counter
	reached bool // the last poll was answered
	tried   bool // there was a poll
}

// NewInventory returns an empty Inventory; Run fills it.
func NewInventory(o InventoryOptions) *Inventory {
	i := &Inventory{o: o}
	i.mu.servers, i.mu.holdings = map[string]*server{}, map[string]*holding{}
	i.mu.changed = make(chan struct{})
	return i
}

// Run follows all Historicals of the view until ctx is done.
func (i *Inventory) Run(ctx context.Context) error {
	f := following{view: i.o.View, role: Historical, lock: &i.mu, join: i.joinLocked, joined: i.raiseLocked, leave: func(address string) {
		i.removeLocked(i.mu.servers[address])
		delete(i.mu.servers, address)
	}}
	return f.run(ctx)
}

// joinLocked begins to know a Historical.
func (i *Inventory) joinLocked(address string, m Member) func(ctx context.Context) {
	rank, asked := m.Priority, true
	if i.o.Tiers != nil {
		rank, asked = i.o.Tiers.Rank(m.Tier, m.Priority)
	}
	s := &server{member: m, at: Beginning, as: &dispatch.Server{
		Name: address, URL: m.URL(), Rank: rank, Unasked: !asked, Protocol: m.Protocol, Here: i.o.Here != nil && i.o.Here.Address == address,
	}}
	i.mu.servers[address] = s
	return func(ctx context.Context) { i.follow(ctx, s) }
}

// follow keeps what is known of a server up to date.
func (i *Inventory) follow(ctx context.Context, s *server) {
	for ctx.Err() == nil {
		d, err := i.poll(ctx, s)
		if ctx.Err() != nil {
			return
		}
		i.mu.Lock()
		if i.mu.servers[s.as.Name] == s {
			i.noteLocked(s, d, err)
		}
		reached := s.reached
		i.mu.Unlock()
		if !reached {
			i.o.Log.WarnContext(ctx, "failed to read the segments of a Historical; retrying", "server", s.as.Name, "error", err)
			if i.o.Clock.Sleep(ctx, pollRetry) != nil {
				return
			}
		}
	}
}

// noteLocked takes over what a poll has brought.
func (i *Inventory) noteLocked(s *server, d *Delta, err error) {
	first := !s.tried
	s.tried = true
	if err != nil {
		if s.reached || first {
			s.reached = false
			s.as.SetDown(true)
			i.mu.live = without(i.mu.live, s.as)
			i.raiseLocked()
		}
		return
	}
	if d != nil && d.Reset {
		i.removeLocked(s)
		s.at = Beginning
		return
	}
	came := !s.reached
	if came {
		s.reached = true
		s.as.SetDown(false)
		i.mu.live = append(slices.Clone(i.mu.live), s.as)
	}
	if d != nil {
		s.at, s.used = d.Counter, d.Used
		for _, c := range d.Changes {
			h := i.mu.holdings[c.ID]
			switch has := h.isBy(s); {
			case c.Action == actionLoad && !has:
				i.holdLocked(s, h, c.ID)
			case c.Action == actionDrop && has:
				i.unholdLocked(s, h)
			}
		}
	}
	if came || d != nil {
		i.raiseLocked()
	}
}

// holdLocked notes that a server holds a segment; h is nil when nobody did.
func (i *Inventory) holdLocked(s *server, h *holding, id string) {
	if h == nil {
		h = &holding{id: id}
		i.mu.holdings[id] = h
	}
	h.by = append(slices.Clip(h.by), s.as)
	s.held++
}

func (i *Inventory) unholdLocked(s *server, h *holding) {
	s.held--
	if h.by = without(h.by, s.as); len(h.by) == 0 {
		delete(i.mu.holdings, h.id)
	}
}

// removeLocked lets nobody ask a server any more.
func (i *Inventory) removeLocked(s *server) {
	for _, h := range i.mu.holdings {
		if s.held > 0 && h.isBy(s) {
			i.unholdLocked(s, h)
		}
	}
	i.mu.live = without(i.mu.live, s.as)
	s.reached = false
}

func without(list []*dispatch.Server, s *dispatch.Server) []*dispatch.Server {
	return slices.DeleteFunc(slices.Clone(list), func(o *dispatch.Server) bool { return o == s })
}

func (i *Inventory) raiseLocked() {
	close(i.mu.changed)
	i.mu.changed = make(chan struct{})
}

// poll asks a server what changed; nil: nothing has.
func (i *Inventory) poll(ctx context.Context, s *server) (*Delta, error) {
	if s.as.Here {
		return i.o.Here.Log.Since(ctx, s.at, pollTimeout, i.o.Clock)
	}
	return poll(ctx, i.o.Client, s.as.URL, s.at)
}

// poll asks a process what changed since a moment; nil: nothing has.
func poll(ctx context.Context, client *http.Client, address string, at Counter) (*Delta, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout+pollGrace)
	defer cancel()
	query := url.Values{
		"counter": {strconv.FormatInt(at.Number, 10)}, "hash": {strconv.FormatInt(at.Hash, 10)},
		"timeout": {strconv.FormatInt(pollTimeout.Milliseconds(), 10)}, "ids": {""},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+LogPath+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() // it was only read
	switch resp.StatusCode {
	case http.StatusNoContent:
		return nil, nil
	case http.StatusOK:
	default:
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 256)) // only makes the message better
		return nil, &statusError{resp.StatusCode, strings.TrimSpace(string(text))}
	}
	d := &Delta{}
	if err := json.NewDecoder(resp.Body).Decode(d); err != nil {
		return nil, fmt.Errorf("what it answered can't be read: %w", errors.Join(err, ctx.Err()))
	}
	return d, nil
}

// statusError is the answer of a process that does not tell what it holds.
type statusError struct {
	status int
	text   string
}

// Error says so.
func (e *statusError) Error() string { return fmt.Sprintf("status [%d]: %s", e.status, e.text) }

// Live implements broker.Servers: it returns the Historicals that respond.
func (i *Inventory) Live() []*dispatch.Server {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.mu.live
}

// Holders implements broker.Servers: it returns the Historicals of a segment, including those that
// currently do not respond.
func (i *Inventory) Holders(segment string) []*dispatch.Server {
	i.mu.Lock()
	defer i.mu.Unlock()
	if h := i.mu.holdings[segment]; h != nil {
		return h.by
	}
	return nil
}

// Held reports whether a Historical that responds has a segment.
func (i *Inventory) Held(segment string) bool {
	return slices.ContainsFunc(i.Holders(segment), func(s *dispatch.Server) bool { return !s.Down() })
}

// Changed returns a channel that is closed when the inventory changes.
func (i *Inventory) Changed() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.mu.changed
}

// Stock describes the segments of a Historical.
type Stock struct {
	Member Member
	// Used is in bytes.
	Used int64
	// Down is true if it currently does not respond; its segments are then the last known ones.
	Down bool
	// Segments is the number of its segments; IDs are their ids in any order, if requested.
	Segments int
	IDs      []string
}

// Stocks returns the stock of each Historical, sorted by address; with ids, it includes the segment
// ids.
func (i *Inventory) Stocks(ids bool) []Stock {
	i.mu.Lock()
	defer i.mu.Unlock()
	var out []Stock
	at := map[*dispatch.Server]int{}
	for _, address := range slices.Sorted(maps.Keys(i.mu.servers)) {
		s := i.mu.servers[address]
		at[s.as] = len(out)
		out = append(out, Stock{Member: s.member, Used: s.used, Down: !s.reached, Segments: s.held})
	}
	if !ids {
		return out
	}
	for n := range out {
		out[n].IDs = make([]string, 0, out[n].Segments)
	}
	for _, h := range i.mu.holdings {
		for _, s := range h.by {
			if n, ok := at[s]; ok {
				out[n].IDs = append(out[n].IDs, h.id)
			}
		}
	}
	return out
}

// Synced returns when the inventory of every Historical was read once, or ctx is done.
func (i *Inventory) Synced(ctx context.Context) error {
	for {
		changed := i.Changed()
		if i.synced() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (i *Inventory) synced() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, m := range i.o.View.Members(Historical) {
		if s := i.mu.servers[m.Address()]; s == nil || !s.tried {
			return false
		}
	}
	return true
}
