package cluster

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/testkit/postgres"
	"github.com/hengedb/henge/internal/testkit/server"
)

var seeds = flag.Uint64("seeds", 1, "how many random runs of trouble there are")

// What goes wrong, in the order of a seed: processes are killed, stopped and started, the network
// between two of them is cut, the metastore is taken from one, the disk of another is slow.
// Meanwhile days are replaced, each time by rows of a new generation. Whatever happens, an answer
// has every row of a day once and all of one generation, or it is an error; and when all is well
// again no day is older than what was acknowledged last.
func TestAnswersStayExactInTrouble(t *testing.T) {
	t.Parallel()
	for seed := range *seeds {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			x := &trouble{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), c: server.StartCluster(t, server.ClusterOptions{
				Links: true, Metastore: metastore.Options{URL: postgres.URL(t)}, Processes: troubled, Settings: []string{"service.memory.limit=256MiB"},
			})}
			x.play(30)
		})
	}
}

// troubled are the processes; the last is asked and left alone, so that somebody answers.
var troubled = [][]string{
	{"coordinator", "overlord"}, {"coordinator", "overlord"}, {"historical"}, {"historical"}, {"historical"}, {"worker"}, {"worker"}, {"broker"}, {"router", "broker"},
}

const (
	troubledDays = 4
	rowsOfADay   = 20
)

type trouble struct {
	t    *testing.T
	rnd  *rand.Rand
	c    *server.Cluster
	log  []string
	acks [troubledDays]int // the generation that was acknowledged last
	next int               // the newest that was submitted

	answers, refusals int
}

func (x *trouble) play(steps int) {
	for day := range troubledDays {
		x.until("the days are loaded", func() bool { return x.replace(day) })
	}
	x.until("two copies of each", x.copied)
	for range steps {
		x.step()
		x.check()
		if x.t.Failed() {
			x.t.Fatalf("after %s", strings.Join(x.log, ", "))
		}
	}
	x.mend()
	x.until("all days are as new as they should be", func() bool { return x.check() })
	x.until("rows can be replaced", func() bool { return x.replace(0) })
	x.until("two copies of each", x.copied)
	for range 10 {
		if !x.check() {
			x.t.Errorf("a query is refused when all is well, after %s", strings.Join(x.log, ", "))
		}
	}
	if x.answers < steps {
		x.t.Errorf("[%d] answers and [%d] refusals: nothing was seen", x.answers, x.refusals)
	}
}

func (x *trouble) until(what string, ok func() bool) {
	x.t.Helper()
	x.c.Until(what+" after "+strings.Join(x.log, ", "), ok)
}

// running returns the processes in a role that run, but for the last, which is asked.
func (x *trouble) running(role string) []*server.Process {
	var out []*server.Process
	for _, p := range x.c.Nodes {
		if p.Runs() && slices.Contains(p.Roles, role) && !slices.Contains(p.Roles, "router") {
			out = append(out, p)
		}
	}
	return out
}

// any returns one of the processes that run.
func (x *trouble) any() *server.Process {
	all := slices.DeleteFunc(slices.Clone(x.c.Nodes), func(p *server.Process) bool { return !p.Runs() })
	return all[x.rnd.IntN(len(all))]
}

func (x *trouble) note(what string, of ...*server.Process) {
	for _, p := range of {
		what += " " + fmt.Sprint(slices.Index(x.c.Nodes, p)) + ":" + p.Roles[0]
	}
	x.log = append(x.log, what)
}

// step makes something go wrong, or right again. As many processes of each role are left as it
// takes for the cluster to live.
func (x *trouble) step() {
	roles := []string{"coordinator", "historical", "historical", "worker", "broker"}
	role := roles[x.rnd.IntN(len(roles))]
	least := map[string]int{"coordinator": 1, "historical": 2, "worker": 1, "broker": 1}[role]
	some := x.running(role)
	switch kind := x.rnd.IntN(10); {
	case kind <= 1 && len(some) > least:
		p := some[x.rnd.IntN(len(some))]
		x.note("kill", p)
		x.c.Kill(p)
		x.c.Start(p.Roles...)
	case kind == 2 && len(some) > least:
		p := some[x.rnd.IntN(len(some))]
		x.note("stop", p)
		if err := x.c.Stop(p); err != nil {
			x.t.Errorf("stopping: %v", err)
		}
		x.c.Start(p.Roles...)
	case kind == 3:
		a, b := x.any(), x.any()
		if a != b {
			x.note("cut", a, b)
			x.c.Cut(a, b)
		}
	case kind == 4:
		p := x.any()
		x.note("cut from the metastore", p)
		x.c.CutStore(p)
	case kind == 5:
		p := x.any()
		x.note("slow disk", p)
		x.c.Slow(p, time.Duration(1+x.rnd.IntN(50))*time.Millisecond)
	case kind == 6:
		x.mend()
	default:
		x.note("replace")
		x.replace(x.rnd.IntN(troubledDays))
	}
}

func (x *trouble) mend() {
	x.note("mend")
	x.c.Heal()
}

// replace gives a day rows of a new generation and reports whether that was acknowledged. It does
// not wait for what takes long: that ends later, or never.
func (x *trouble) replace(day int) bool {
	x.next++
	generation := x.next
	rows := make([]string, rowsOfADay)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"t":"2024-01-%02d","i":%d,"g":%d}`, day+1, i, generation)
	}
	data, err := json.Marshal(map[string]string{"type": "inline", "data": strings.Join(rows, "\n")})
	if err != nil {
		x.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(x.t.Context(), patience)
	defer cancel()
	err = x.c.Ingest(ctx, fmt.Sprintf("REPLACE INTO t OVERWRITE WHERE __time >= TIMESTAMP '2024-01-%02d' AND __time < TIMESTAMP '2024-01-%02d' "+
		"SELECT TIME_PARSE(t) AS __time, i, g FROM TABLE(EXTERN('%s','{\"type\":\"json\"}')) EXTEND (t VARCHAR, i BIGINT, g BIGINT) PARTITIONED BY DAY",
		day+1, day+2, data), nil)
	if err != nil {
		return false
	}
	x.acks[day] = generation
	return true
}

// patience is how long one waits for a load in trouble, or for an answer, before something else
// goes wrong.
const patience = 3 * time.Second

// check asks for the days. What comes is exact, or an error; it reports whether it came and is as
// new as what was acknowledged.
func (x *trouble) check() (fresh bool) {
	ctx, cancel := context.WithTimeout(x.t.Context(), patience)
	defer cancel()
	rows, err := x.c.Query(ctx, "SELECT EXTRACT(DAY FROM __time), COUNT(*), COUNT(DISTINCT i), SUM(i), MIN(g), MAX(g) FROM t GROUP BY 1 ORDER BY 1")
	if err != nil {
		x.refusals++
		return false
	}
	x.answers++
	fresh = len(rows) == troubledDays
	last := 0
	for _, r := range rows {
		var n [6]int
		for i := range n {
			if _, err := fmt.Sscan(fmt.Sprint(r[i]), &n[i]); err != nil {
				x.t.Fatal(err)
			}
		}
		if n[0] <= last || n[1] != rowsOfADay || n[2] != rowsOfADay || n[3] != rowsOfADay*(rowsOfADay-1)/2 || n[4] != n[5] || n[5] > x.next || n[5] < 1 {
			x.t.Errorf("an answer that is not exact: %v", rows)
			return false
		}
		last = n[0]
		fresh = fresh && n[4] >= x.acks[n[0]-1]
	}
	return fresh
}

// copied reports whether each segment that counts has two copies.
func (x *trouble) copied() bool {
	rows, err := x.c.Query(x.t.Context(), "SELECT COUNT(*), MIN(num_replicas) FROM sys.segments WHERE is_overshadowed = 0 AND is_published = 1")
	return err == nil && fmt.Sprint(rows) == fmt.Sprintf("[[%d 2]]", troubledDays)
}
