package msq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/plan"
)

// helped in a number of tasks says that peers do parts.
const helped = 100

// testSession is followers in this process. What goes between is encoded and decoded as it is
// between processes.
type testSession struct {
	t       testing.TB
	own     func(id string, number int) ([]byte, error)
	peers   []*testPeer
	parts   atomic.Int64 // that were begun
	lose    atomic.Int64 // so many parts are lost
	late    atomic.Int64 // the answers of so many parts that build segments are lost
	broken  atomic.Bool  // frames can't be read
	sent    func([]byte) // sees parts as they are sent; may be nil
	changes func(*Part)  // makes them others than they were; may be nil
}

type testPeer struct {
	session *testSession
	name    string
	f       *Follower
}

// helped lets so many peers do parts of jobs.
func (b *bench) helped(n int) *testSession {
	h := &testSession{t: b.t}
	b.deps.Expr = &expr.Context{Now: 1}
	b.deps.Join = func(_ context.Context, job PartJob, frame func(id string, number int) ([]byte, error)) Session {
		h.own = frame
		var sent PartJob
		h.send(job, &sent)
		if len(sent.Kept) > 0 {
			return h // the processes that earlier runs had
		}
		for i := range n {
			deps := b.deps
			deps.Metastore, deps.Loads, deps.Join, deps.TempDir = nil, nil, nil, filepath.Join(filepath.Dir(b.temp), fmt.Sprint("helper", i))
			f, err := Follow(sent.ID, sent.Options, nil, deps, h.Read)
			if err != nil {
				b.t.Fatal(err)
			}
			h.peers = append(h.peers, &testPeer{h, fmt.Sprint("helper", i), f})
		}
		return h
	}
	return h
}

// send makes out what arrives of in.
func (h *testSession) send(in, out any) {
	text, err := json.Marshal(in)
	if _, part := in.(*Part); part && h.sent != nil {
		h.sent(text)
	}
	if err == nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		h.t.Errorf("sending %T: %v", in, err)
	}
}

func (h *testSession) Self() string { return "here" }

func (h *testSession) Peers() []Peer {
	out := make([]Peer, len(h.peers))
	for i, one := range h.peers {
		out[i] = one
	}
	return out
}

func (h *testSession) Read(_ context.Context, at, id string, number int, buf []byte) ([]byte, error) {
	if h.broken.Load() {
		return buf, LostFrame(at, errors.New("it is gone"))
	}
	if at == "here" {
		return h.own(id, number)
	}
	for _, one := range h.peers {
		if one.name == at {
			return one.f.Frame(id, number)
		}
	}
	return buf, LostFrame(at, errors.New("it is not known"))
}

func (h *testSession) Has(at string) bool {
	return !h.broken.Load() && slices.ContainsFunc(h.peers, func(o *testPeer) bool { return o.name == at })
}

func (h *testSession) Close(keep bool) {
	if keep {
		return // the next run has them
	}
	for _, one := range h.peers {
		if err := one.f.Close(); err != nil {
			h.t.Error(err)
		}
	}
	h.peers = nil
}

func (h *testPeer) Name() string { return h.name }

func (h *testPeer) Do(ctx context.Context, p *Part, progress func(*PartProgress)) (*PartResult, bool, error) {
	h.session.parts.Add(1)
	if h.session.lose.Add(-1) >= 0 {
		return nil, true, errors.New("it is gone")
	}
	var part Part
	h.session.send(p, &part)
	if h.session.changes != nil {
		h.session.changes(&part)
	}
	r, err := h.f.Do(ctx, &part, progress)
	if err == nil && p.Generate != nil && h.session.late.Add(-1) >= 0 {
		return nil, true, errors.New("its answer is gone")
	}
	if err != nil {
		text, encodeErr := EncodeFault(ctx, err)
		if encodeErr != nil {
			return nil, false, encodeErr
		}
		return nil, false, DecodeFault(text)
	}
	var result PartResult
	h.session.send(r, &result)
	if result.Output.Key == "" {
		result.Output.At = h.name
	}
	return &result, false, nil
}

// files is EXTERN over files of the given lines.
func (b *bench) filesOf(contents ...string) *plan.External {
	x := external("", "t time k string n long")
	var names []string
	for i, text := range contents {
		name := filepath.Join(filepath.Dir(b.temp), fmt.Sprintf("in%d.json", i))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			b.t.Fatal(err)
		}
		names = append(names, name)
	}
	source, err := json.Marshal(map[string]any{"type": "local", "files": names})
	if err != nil {
		b.t.Fatal(err)
	}
	x.Source = source
	return x
}

func (b *bench) insertOf(x *plan.External) *plan.Write {
	return &plan.Write{Input: project(x, "__time=t", "k", "n"), DataSource: "w", PartitionBy: days(b.t), Cluster: []int{1}}
}

func TestFilesAreReadByOtherProcesses(t *testing.T) {
	for name, context := range map[string]map[string]any{
		"as it is": {"maxNumTasks": 4}, "durable": {"maxNumTasks": 4, "durableShuffleStorage": true},
		"tolerant of bad records": {"maxNumTasks": 4, "maxParseExceptions": 10},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			h := b.helped(2)
			bad := ""
			if context["maxParseExceptions"] != nil {
				bad = "{bad\n"
			}
			c, out, err := b.run(b.insertOf(b.filesOf(twelve(), twelve()+bad, twelve())), context)
			if err != nil {
				t.Fatal(err)
			}
			if out.Rows != 36 || len(out.Segments) != 3 || h.parts.Load() != 4 {
				t.Errorf("[%d] rows in [%d] segments with [%d] parts elsewhere", out.Rows, len(out.Segments), h.parts.Load())
			}
			r, err := c.Report()
			if err != nil {
				t.Fatal(err)
			}
			alone := newBench(t)
			whole, _, err := alone.run(alone.insertOf(alone.filesOf(twelve(), twelve()+bad, twelve())), context)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(alone.published(), b.published()); d != "" {
				t.Error(d)
			}
			for i, s := range out.Segments {
				if d := cmp.Diff(alone.rows(alone.meta.used[i]), b.rows(s)); d != "" {
					t.Error(d)
				}
			}
			if d := cmp.Diff(countersOf(t, whole), countersOf(t, c)); d != "" {
				t.Errorf("counters: %s", d)
			}
			if want := len(bad) / max(1, len(bad)); len(r.Warnings) != want {
				t.Errorf("warnings: %v", r.Warnings)
			}
		})
	}
}

func TestAPartThatIsLostIsDoneElsewhere(t *testing.T) {
	b := newBench(t)
	b.hurry()
	h := b.helped(2)
	h.lose.Store(2)
	c, out, err := b.run(b.insertOf(b.filesOf(twelve(), twelve(), twelve())), map[string]any{"maxNumTasks": 4})
	if err != nil || out.Rows != 36 {
		t.Fatalf("%+v, %v", out, err)
	}
	r, err := c.Report()
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for _, attempts := range r.Workers {
		failed += len(attempts) - 1
	}
	if failed != 2 {
		t.Errorf("workers: %+v", r.Workers)
	}
}

// A worker that was given up has built its segments all the same, and so does the one that takes
// its place: those of one of them are published.
func TestTwoWorkersThatFinishTheSamePartition(t *testing.T) {
	b := newBench(t)
	b.hurry()
	h := b.helped(2)
	h.late.Store(2)
	_, out, err := b.run(b.insertOf(b.filesOf(twelve(), twelve(), twelve())), map[string]any{"maxNumTasks": 4})
	if err != nil || out.Rows != 36 || h.late.Load() >= 0 {
		t.Fatalf("%+v, %v, [%d] answers were not lost", out, err, h.late.Load()+1)
	}
	rows := int64(0)
	for _, s := range out.Segments {
		rows += s.Rows
	}
	if rows != 36 || len(b.meta.used) != len(out.Segments) {
		t.Errorf("[%d] rows were published in %v", rows, b.published())
	}
}

func TestAProcessThatDoesNotSeeAFileLeavesItToAnother(t *testing.T) {
	b := newBench(t)
	b.hurry()
	h := b.helped(2)
	h.changes = func(p *Part) { // their disks have other files
		for i := range p.Inputs {
			for k := range p.Inputs[i].Splits {
				p.Inputs[i].Splits[k].Size++
			}
		}
	}
	_, out, err := b.run(b.insertOf(b.filesOf(twelve(), twelve(), twelve())), map[string]any{"maxNumTasks": 4})
	if err != nil || out.Rows != 36 {
		t.Fatalf("%+v, %v", out, err)
	}
}

func TestAFaultOfAPartIsTheFaultOfTheJob(t *testing.T) {
	b := newBench(t)
	b.helped(2)
	_, _, err := b.run(b.insertOf(b.filesOf(twelve(), "{bad\n", twelve())), map[string]any{"maxNumTasks": 4})
	f, ok := errors.AsType[*Fault](err)
	if !ok || f.Code != "CannotParseExternalData" || f.Worker != "query-1-worker1_0" || f.Stage != 0 || f.Trace == "" {
		t.Errorf("%+v", err)
	}
}

func TestWhatAnotherProcessWroteIsLostWithIt(t *testing.T) {
	b := newBench(t)
	h := b.helped(2)
	h.broken.Store(true)
	_, _, err := b.run(b.insertOf(b.filesOf(twelve(), twelve(), twelve())), map[string]any{"maxNumTasks": 4})
	if !errors.Is(err, ErrPartLost) {
		t.Errorf("%v", err)
	}
}

// FuzzPart gives a Follower parts of any shape: it refuses them or does them, and never ends the
// process.
func FuzzPart(f *testing.F) {
	b := newBench(f)
	h := b.helped(1)
	var seed []byte
	h.sent = func(text []byte) { seed = text }
	if _, _, err := b.run(b.insertOf(b.filesOf(twelve(), twelve())), map[string]any{"maxNumTasks": 3}); err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	options, err := ParseOptions(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var p Part
		if json.Unmarshal(text, &p) != nil {
			return
		}
		follower, err := Follow("query-1", options, nil, Deps{Expr: &expr.Context{}, Store: b.store, TempDir: t.TempDir(), Access: &ingest.Access{LocalDirs: []string{t.TempDir()}}}, h.Read)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = follower.Do(t.Context(), &p, func(*PartProgress) {}) // that it returns is what is wanted
		if err := follower.Close(); err != nil {
			t.Error(err)
		}
	})
}
