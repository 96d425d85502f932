package push

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/spec"
	stream "github.com/hengedb/henge/internal/stream/push"
)

const (
	// freshFor is how long a schema is used before the supervisor is looked at again.
	freshFor = 2 * time.Second
	// lookEvery is how often a request that waits looks whether its rows are read at all. So often
	// does a process look, however many wait.
	lookEvery = time.Second
	// looks is how often it looks, and so how long it waits for its rows to be read.
	looks = 30
)

// table is how the rows of a datasource are read, as it was when somebody looked last.
type table struct {
	schema    *spec.DataSchema // nil: there is no supervisor
	suspended bool
	looked    time.Time
}

// stopped says why nobody reads the rows; "": they are read.
func (t *table) stopped(name string) string {
	switch id := SupervisorOf(name); {
	case t.schema == nil:
		return fmt.Sprintf("Supervisor [%s] was terminated. The rows come into answers when others are sent to the datasource", id)
	case t.suspended:
		return fmt.Sprintf("Supervisor [%s] is suspended. The rows come into answers when it is resumed", id)
	}
	return ""
}

// look returns how the rows of a datasource are read, as it was a while ago at most.
func (a *API) look(ctx context.Context, name string, while time.Duration) (*table, error) {
	a.mu.Lock()
	t := a.tables[name]
	a.mu.Unlock()
	now := a.o.Clock.Now()
	if t != nil && now.Sub(t.looked) < while {
		return t, nil
	}
	id := SupervisorOf(name)
	found, err := a.o.Supervisors.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	t = &table{looked: now}
	if found != nil {
		text, err := json.Marshal(found.Spec)
		if err != nil {
			return nil, fmt.Errorf("writing the specification of supervisor [%s]: %w", id, err)
		}
		read, err := spec.ParseStream(spec.Push, text)
		if err != nil {
			return nil, err
		}
		t.schema, t.suspended = read.Schema, read.Suspended
	}
	a.keep(name, t)
	return t, nil
}

// keep remembers what look has found, if that is something.
func (a *API) keep(name string, t *table) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.schema == nil {
		delete(a.tables, name)
		return
	}
	a.tables[name] = t
}

// schema returns how the rows of a datasource are read. The first rows of a datasource make it.
func (a *API) schema(r *http.Request, name string, body []byte) (*spec.DataSchema, error) {
	t, err := a.look(r.Context(), name, freshFor)
	if err == nil && t.suspended { // it may have been resumed
		t, err = a.look(r.Context(), name, 0)
	}
	if err != nil {
		return nil, err
	}
	if t.suspended {
		return nil, fault.Unavailable("Supervisor [%s] is suspended: datasource [%s] takes no rows until it is resumed",
			SupervisorOf(name), name)
	}
	if t.schema != nil {
		return t.schema, nil
	}
	text, err := a.discovered(r, name, body)
	if err != nil {
		return nil, err
	}
	if err := a.fits(r, body, text); err != nil {
		return nil, err
	}
	if _, _, err = a.o.Supervisors.Put(r.Context(), text, true, a.entry(r)); err != nil {
		return nil, err
	}
	read, err := spec.ParseStream(spec.Push, text)
	if err != nil {
		return nil, err
	}
	a.keep(name, &table{schema: read.Schema, looked: a.o.Clock.Now()})
	return read.Schema, nil
}

// errLook ends a turn of waiting.
var errLook = errors.New("it is time to look who reads")

// await returns when the rows at a position of a log are where the sender wants them. What it is
// told when that is not to be expected says what becomes of the rows: they are on disk.
func (a *API) await(ctx context.Context, name string, log *stream.Log, position int64, out *answer) error {
	wait := log.AwaitRead
	if out.Acknowledgement == published {
		wait = log.AwaitPublished
	}
	for left := looks; ; left-- {
		turn, cancel := context.WithTimeoutCause(ctx, a.every, errLook)
		err := wait(turn, position)
		cancel()
		if !errors.Is(err, errLook) {
			return err
		}
		stopped := ""
		if t, err := a.look(ctx, name, a.every); err == nil { // if nobody knows, it is waited
			stopped = t.stopped(name)
		}
		switch {
		case out.Acknowledgement == published && stopped == "":
			left = looks + 1 // it takes as long as tasks do
		case stopped != "" && (out.Acknowledgement != published || left <= 0):
			return kept(stopped, out)
		case left <= 0:
			return kept("No task has read the rows so far. They come into answers when one does", out)
		}
	}
}

// kept is what a sender is told of rows that are on disk and not where it wants them.
func kept(why string, out *answer) error {
	if out.Guarantee == "exactlyOnce" {
		return fault.Unavailable("%s. They are on disk; sent again as they were, with their channel and offset or their key, "+
			"they count once", why)
	}
	return fault.Unavailable("%s. They are on disk; sent again they would count twice, for they have neither channel nor key", why)
}
