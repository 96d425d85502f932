package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// permuted is what connections ask at once: each asks all queries in an order of its own, then in
// another one, until the time is over. Every answer is held against the one that was given before,
// when nothing else was asked.
type permuted struct {
	queries []query
	answers []answer // of this engine, by query
	orders  [][]int  // by connection; after the last query of an order it begins anew
	turn    int      // each begins with another permutation
	d       time.Duration
}

// permutedTimes is what connections measured together.
type permutedTimes struct {
	clientTimes
	// wrong is how many answers were others than before; first says what the first wrong or failed
	// one was.
	wrong int
	first string
	used  time.Duration // processor time of the engine; that of peers includes checking the answers
}

// permutationsOfOne is how many orders a connection has: none repeats one within minutes.
const permutationsOfOne = 200

// ordersOf are the orders of so many connections, which a seed determines.
func ordersOf(seed uint64, connections, queries int) [][]int {
	orders := make([][]int, connections)
	for c := range orders {
		r := rand.New(rand.NewPCG(seed, uint64(c)))
		for range permutationsOfOne {
			orders[c] = append(orders[c], r.Perm(queries)...)
		}
	}
	return orders
}

// permutations has connections ask every engine in turn for some time. Who holds its answers
// against which: all engines' first answers against each other, later ones against the first of the
// same engine.
func (r *race) permutations(ctx context.Context, list []query, o options) error {
	var asked []query
	for _, q := range list {
		if r.filter.MatchString(q.name) {
			asked = append(asked, q)
		}
	}
	if len(asked) == 0 {
		return fmt.Errorf("-query: no query is called [%s]", o.query)
	}
	first := make([]map[string]answer, len(asked))
	for i, q := range asked {
		first[i] = map[string]answer{}
		for _, e := range r.engines {
			a, err := e.ask(ctx, q.sql[e.dialect()])
			if err != nil {
				return fmt.Errorf("%s: %s: %w", e.name(), q.name, err)
			}
			first[i][e.name()] = a
		}
		entry := newEntry(q.name, r.engines)
		entry.compare(r.engines, first[i], q)
		for name, text := range entry.Differs {
			return fmt.Errorf("%s: %s differs before anybody else asks: %s", name, q.name, text)
		}
	}
	orders := ordersOf(o.seed, o.connections, len(asked))
	// Engines take turns, so that what else the machine does hits all alike.
	turns := max(1, int((o.lasting+longestTurn-1)/longestTurn))
	sums := map[string]*permutedTimes{}
	for turn := range turns {
		for _, e := range r.turns(turn) {
			p := permuted{queries: asked, orders: orders, turn: turn, d: o.lasting / time.Duration(turns)}
			for i := range asked {
				p.answers = append(p.answers, first[i][e.name()])
			}
			before, err := usedBy(e)
			if err != nil {
				return err
			}
			measured, err := e.permute(ctx, p)
			if err != nil {
				return fmt.Errorf("letting [%d] connections ask %s: %w", o.connections, e.name(), err)
			}
			after, err := usedBy(e)
			if err != nil {
				return err
			}
			measured.used = after - before
			if sums[e.name()] == nil {
				sums[e.name()] = &permutedTimes{}
			}
			sums[e.name()].add(measured)
		}
	}
	for _, e := range r.engines {
		r.report.permutations(e, o, len(asked), sums[e.name()])
	}
	return r.stillLive(ctx)
}

// longestTurn bounds how long connections ask one engine before it is the turn of the next.
const longestTurn = 10 * time.Second

// usedBy is the processor time of an engine, 0 where it is not told.
func usedBy(e engine) (time.Duration, error) {
	if e.pid() == 0 {
		return 0, nil
	}
	return wholeTime(e.pid())
}

func (t *permutedTimes) add(o permutedTimes) {
	t.times = append(t.times, o.times...)
	t.errors, t.wrong, t.used = t.errors+o.errors, t.wrong+o.wrong, t.used+o.used
	if t.first == "" {
		t.first = o.first
	}
}

// order is that of a connection in this turn.
func (p *permuted) order(connection int) []int {
	order := p.orders[connection]
	at := p.turn * len(p.queries) % len(order)
	return slices.Concat(order[at:], order[:at])
}

// permutationResult is what connections found out about an engine.
type permutationResult struct {
	Engine                  string
	Connections, Statements int
	Seconds                 float64
	PerSecond, P50, P99     float64
	// Used is the processor time of the engine for an answer, in milliseconds.
	Used                   float64
	Queries, Errors, Wrong int
	First                  string `json:",omitempty"` // what was wrong first
}

func (r *report) permutations(e engine, o options, statements int, m *permutedTimes) {
	ms := make([]float64, len(m.times))
	for i, t := range m.times {
		ms[i] = inMillis(t)
	}
	r.Permutations = append(r.Permutations, permutationResult{
		Engine: e.name(), Connections: o.connections, Statements: statements, Seconds: o.lasting.Seconds(),
		PerSecond: float64(len(ms)) / o.lasting.Seconds(),
		Used:      inMillis(m.used) / float64(max(1, len(ms)+m.errors+m.wrong)),
		P50:       quantile(ms, 0.5), P99: quantile(ms, 0.99), Queries: len(ms), Errors: m.errors, Wrong: m.wrong, First: m.first,
	})
}

// wrong is an error if connections got no answer, or another than before.
func (r *report) wrong() error {
	for _, p := range r.Permutations {
		if p.Errors+p.Wrong > 0 {
			return fmt.Errorf("%s gave [%d] errors and [%d] wrong answers to [%d] connections; the first: %s",
				p.Engine, p.Errors, p.Wrong, p.Connections, p.First)
		}
	}
	return nil
}

func (h *server) permute(ctx context.Context, p permuted) (permutedTimes, error) {
	var out permutedTimes
	var mu sync.Mutex
	var all sync.WaitGroup
	same := make([][]byte, len(p.queries)) // the last right answer as bytes
	end := time.Now().Add(p.d)
	one := func(i int) {
		q := p.queries[i]
		began := time.Now()
		body, err := h.query(ctx, q.sql[h.dialect()])
		took := time.Since(began)
		failed, text := err != nil, ""
		if failed {
			text = err.Error()
		} else {
			mu.Lock()
			known := same[i]
			mu.Unlock()
			if !bytes.Equal(body, known) {
				text = p.differs(i, body)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		switch {
		case failed:
			out.errors++
		case text != "":
			out.wrong++
		default:
			same[i] = body
			if began.Add(took).Before(end) { // what ends later was not done in the time
				out.times = append(out.times, took)
			}
		}
		if text != "" && out.first == "" {
			out.first = q.name + ": " + text
		}
	}
	for c := range p.orders {
		order := p.order(c)
		all.Go(func() {
			for k := 0; time.Now().Before(end) && ctx.Err() == nil; k++ {
				one(order[k%len(order)])
			}
		})
	}
	all.Wait()
	return out, ctx.Err()
}

// differs says how an answer to query i differs from the first one, "" if it does not.
func (p *permuted) differs(i int, body []byte) string {
	var rows [][]any
	if err := decodeExact(body, &rows); err != nil {
		return err.Error()
	}
	q, truth := p.queries[i], p.answers[i].rows
	if q.anyRows && len(rows) == len(truth) {
		return ""
	}
	return compare(rows, truth, q.near)
}

func (p *peer) permute(_ context.Context, c permuted) (permutedTimes, error) {
	var statements []string
	var anyRows []bool
	for _, q := range c.queries {
		statements, anyRows = append(statements, q.sql[p.kind]), append(anyRows, q.anyRows)
	}
	orders := make([][]int, len(c.orders))
	for i := range orders {
		orders[i] = c.order(i)
	}
	reply, err := p.call(map[string]any{
		"op": "permute", "sql": statements, "any_rows": anyRows, "orders": orders, "seconds": c.d.Seconds(),
	})
	if err != nil {
		return permutedTimes{}, err
	}
	var ms []float64
	if err := json.Unmarshal(reply.MS, &ms); err != nil {
		return permutedTimes{}, fmt.Errorf("decoding the times of %s: %w", p.kind, err)
	}
	out := permutedTimes{clientTimes: clientTimes{errors: reply.Errors}, wrong: reply.Wrong, first: reply.First}
	for _, m := range ms {
		out.times = append(out.times, millis(m))
	}
	return out, nil
}
