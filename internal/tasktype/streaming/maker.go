package streaming

import (
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/tasktype"
	"github.com/hengedb/henge/internal/tasktype/streaming/intake"
)

// Makers returns the constructor of the Makers of tasks. Makers compute transforms in the
// environment env.
func Makers(env *tasktype.Env) func(o MakerOptions) (Maker, error) {
	return func(o MakerOptions) (Maker, error) {
		if len(o.IO.Format) == 0 {
			return nil, fault.InvalidInput("The [ioConfig] has no [inputFormat], which says how records become rows")
		}
		format, err := ingest.ParseFormat(o.IO.Format)
		if err != nil {
			return nil, err
		}
		in, done := env.Broker.FragmentEnv(chrono.UTC, clock.Millis(env.Clock), o.Name)
		m, err := intake.New(intake.Options{
			Schema: o.Schema, Format: format, Access: env.Access, Env: in, MinTime: o.IO.MinTime, MaxTime: o.IO.MaxTime, OnBad: o.OnBad,
		})
		if err != nil {
			done()
			return nil, err
		}
		return &maker{m, done}, nil
	}
}

// maker is an intake.Maker with what it computes in.
type maker struct {
	*intake.Maker
	done func()
}

// Close implements Maker.
func (m *maker) Close() {
	m.Maker.Close()
	m.done()
}
