package role

import (
	"github.com/hengedb/henge/internal/api/workers"
	"github.com/hengedb/henge/internal/stream/shared"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasktype"
	"github.com/hengedb/henge/internal/tasktype/batch"
	"github.com/hengedb/henge/internal/tasktype/streaming"
)

// openReading adds the kinds of tasks that read streams, and what answers for the tasks of this
// process.
func (s *services) openReading(env *tasktype.Env, others *batch.Chats, kinds map[string]task.Kind) {
	s.streams = streaming.NewRunning()
	s.chats = workers.ChatOptions{Streams: s.streams, Ask: others.Ask, DataSource: s.dataSourceOf}
	sources := shared.New(s.opener().Open, s.n.o.Clock, s.n.o.Log)
	s.n.onClose(func() error { sources.Close(); return nil })
	kind := streaming.New(streaming.Options{
		Env: env, Running: s.streams, Segments: streaming.LiveSegments(s.live), Source: sources.Open, Maker: streaming.Makers(env),
		Overlord: s.overlordChat(),
	})
	for _, name := range streaming.Types() {
		kinds[name] = kind
	}
}
