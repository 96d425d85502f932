package exec

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// simulated are servers that have made groups of what they hold: each so many of a number of keys,
// with a count of one.
type simulated struct{ streams [][]*vector.Batch }

func simulate(servers, groups, keys int) *simulated {
	s := &simulated{}
	for n := range servers {
		r := rand.New(rand.NewPCG(uint64(n), 7))
		var stream []*vector.Batch
		for left := groups; left > 0; left -= vector.BatchRows {
			rows := min(left, vector.BatchRows)
			key, count := make([]int64, rows), make([]int64, rows)
			for i := range key {
				key[i], count[i] = int64(r.IntN(keys)), 1
			}
			stream = append(stream, &vector.Batch{N: rows, Cols: []*vector.Vector{
				vector.Constant(vector.Long, int64(0), rows), vector.FromLongs(key), vector.FromLongs(count),
			}})
		}
		s.streams = append(s.streams, stream)
	}
	return s
}

func (s *simulated) Split(context.Context, *plan.Scan, []string) ([]Leaf, Remote, error) {
	return nil, s, nil
}

func (s *simulated) Open(_ context.Context, _ *Fragment) ([]Operator, error) {
	out := make([]Operator, len(s.streams))
	for i, stream := range s.streams {
		out[i] = &sent{stream}
	}
	return out, nil
}

type sent struct{ left []*vector.Batch }

func (s *sent) Next(context.Context) (*vector.Batch, error) {
	if len(s.left) == 0 {
		return nil, io.EOF
	}
	b := s.left[0]
	s.left = s.left[1:]
	return b, nil
}

func (s *sent) Close() {}

// counts is COUNT(*) by a number.
func counts() plan.Node {
	count := plan.AggCall{Agg: agg.Spec{Name: "COUNT"}, Filter: -1, Name: "n", Type: expr.Of(expr.BigInt).NotNull()}
	scan := &plan.Scan{DataSource: "t", Out: []plan.Column{{Name: "k", Type: expr.Of(expr.BigInt).NotNull()}}, Limit: -1}
	return &plan.Aggregate{Input: scan, Keys: []int{0}, Aggs: []plan.AggCall{count}}
}

// The groups of many servers are merged by all threads, also with so little memory that each of
// them spills.
func TestGroupsOfManyServersAreMerged(t *testing.T) {
	for _, c := range []config{{name: "4096", batch: 4096}, {name: "spill", batch: 512, spill: 3 << 20}} {
		t.Run(c.name, func(t *testing.T) {
			s := simulate(40, 5000, 60_000)
			env := c.env(t)
			env.Cluster, env.Threads, env.GroupSpill = s, 4, &atomic.Int64{}
			rows, err := rowsOf(t, counts(), env)
			if err != nil {
				t.Fatal(err)
			}
			if spilled := env.GroupSpill.Load(); (spilled > 0) != (c.spill > 0) {
				t.Errorf("[%d] bytes of groups were spilled", spilled)
			}
			want := map[int64]int64{}
			for _, stream := range s.streams {
				for _, b := range stream {
					for _, k := range b.Cols[1].Longs {
						want[k]++
					}
				}
			}
			last := int64(-1)
			for _, r := range rows {
				k, n := r[0].(int64), r[1].(int64)
				if want[k] != n || k <= last {
					t.Fatalf("group [%d] behind [%d] has [%d] rows, want [%d]", k, last, n, want[k])
				}
				last = k
			}
			if len(rows) != len(want) {
				t.Errorf("[%d] groups, want [%d]", len(rows), len(want))
			}
		})
	}
}

// BenchmarkGroupsOfManyServers merges what 40 servers have grouped.
func BenchmarkGroupsOfManyServers(b *testing.B) {
	for _, groups := range []int{100, 10_000, 100_000} {
		s := simulate(40, groups, 5*groups)
		for _, threads := range []int{1, 4} {
			b.Run(fmt.Sprintf("groups=%d/threads=%d", groups, threads), func(b *testing.B) {
				for b.Loop() {
					env := &Env{BatchRows: vector.BatchRows, Threads: threads, Expr: &expr.Context{}, Budget: budget.Root(4 << 30), Cluster: s}
					op, err := Build(b.Context(), counts(), env)
					if err != nil {
						b.Fatal(err)
					}
					if err := Drain(b.Context(), op, func(*vector.Batch) error { return nil }); err != nil {
						b.Fatal(err)
					}
					op.Close()
				}
			})
		}
	}
}
