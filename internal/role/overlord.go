package role

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/hengedb/henge/internal/api/coordinator"
	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/sampler"
	"github.com/hengedb/henge/internal/api/statements"
	"github.com/hengedb/henge/internal/api/supervisors"
	"github.com/hengedb/henge/internal/api/tasks"
	api "github.com/hengedb/henge/internal/api/uploads"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/historical"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/overlord"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasktype"
	"github.com/hengedb/henge/internal/tasktype/batch"
	"github.com/hengedb/henge/internal/tasktype/imports"
	killtask "github.com/hengedb/henge/internal/tasktype/kill"
	"github.com/hengedb/henge/internal/tasktype/move"
	"github.com/hengedb/henge/internal/tasktype/sqltask"
)

func (s *services) openOverlord(ctx context.Context) error {
	set := s.n.settings
	if err := s.openSent(); err != nil {
		return err
	}
	logs, err := s.n.dir.sub("tasks/logs")
	if err != nil {
		return err
	}
	if !s.n.peers.alone { // what a process that was lost has left: its tasks are elsewhere
		if err := emptyDir(logs); err != nil {
			return err
		}
	}
	work, err := s.workFolder(ctx)
	if err != nil {
		return err
	}
	if err := s.openUploads(ctx); err != nil {
		return err
	}
	at := s.n.member(cluster.Indexer)
	here := task.Location{Host: at.Host, Port: at.Port, TLSPort: at.TLSPort}
	files := tasktype.NewFiles(tasktype.FilesOptions{Store: s.deep, Dir: logs, Alone: s.n.peers.alone, Current: s.n.store.CheckFence})
	s.files = files
	threads := int(set.Int("service.processing.numThreads"))
	env := &tasktype.Env{
		Broker: s.broker, Metastore: s.n.store, Published: s.n.published, Deep: s.deep, Files: files, Loads: s.awaitLoad,
		Access: s.access(), Exports: s.exports(), Durable: set.Bool("service.msq.intermediate.storage.enable"),
		Open: historical.Named{Historical: s.historical}.Acquire, FaultPoint: s.n.o.FaultPoint,
		TempDir: work, Memory: s.n.memory, Disk: s.n.disk, Threads: threads, Host: here.Address(),
		Meter: s.n.meter, Clock: s.n.o.Clock, Log: s.n.o.Log,
	}
	env.Rows = func(ctx context.Context, text json.RawMessage, of *exec.Env) (msq.RowSource, error) {
		return batch.Rows(ctx, env, text, of)
	}
	env.Join = s.openParts(here, env)
	controller, chats := sqltask.NewController(env), batch.NewChats()
	loads := batch.Options{Env: env, Chats: chats}
	parallel, simple := batch.NewIndex(loads)
	kinds := map[string]task.Kind{
		sqltask.ControllerType: controller, task.KillType: killtask.New(s.n.store, s.deep, files, s.n.meter, s.n.o.Log),
		task.NoopType:     task.Noop{Clock: s.n.o.Clock},
		batch.CompactType: batch.NewCompact(loads), batch.ParallelType: parallel, batch.SimpleType: simple,
	}
	for _, name := range []string{move.Type, move.ArchiveType, move.RestoreType} {
		kinds[name] = move.New(name, s.n.store, s.deep, set.Text("service.storage.archiveBaseKey"), s.n.o.Log)
	}
	kinds[imports.Type] = imports.New(imports.Options{
		Env: env, S3: s3Options(set, s.n.outside), Visible: s.awaitVisible,
		Google: imports.ObjectStore{Properties: properties(set, map[string]string{
			"accessKeyId": "service.google.accessKey", "secretAccessKey": "service.google.secretKey"})},
		Azure: imports.ObjectStore{Account: set.Text("service.azure.account"), Properties: properties(set, map[string]string{
			"key": "service.azure.key", "sharedAccessStorageToken": "service.azure.sharedAccessStorageToken"})},
	})
	s.openReading(env, chats, kinds)
	for name, kind := range kinds {
		kinds[name] = tasktype.Logged(kind, files, s.n.o.Log)
	}
	s.records = overlord.NewStore(s.n.store, s.n.metrics, s.n.meter)
	options := task.Options{
		Admit: s.n.admitTask, Ended: s.taskEnded,
		Capacity: s.n.capacity(), MaxActive: int(set.Int("service.indexer.queue.maxSize")), Location: here, Meter: s.n.meter,
		Clock: s.n.o.Clock, Log: s.n.o.Log,
	}
	endpoints := tasks.Options{
		Locks: s.n.store, Needs: s.taskNeeds, Audit: s.auditTask, Worker: here,
		Recent:          set.Duration("service.indexer.storage.recentlyFinishedThreshold").Milliseconds(),
		MaxRequestBytes: set.Bytes("service.server.http.maxRequestBytes", 0), Clock: s.n.o.Clock,
	}
	if !s.n.peers.alone {
		s.openWorkers(ctx, kinds, &options)
		if s.worker != nil {
			endpoints.Local = s.worker
		}
	}
	s.runSent(ctx)
	s.queue = task.NewQueue(s.records, kinds, options)
	limit := set.Bytes("service.server.http.maxRequestBytes", 0)
	s.sampler = sampler.New(func(ctx context.Context, n plan.Node, id string) (query.Rows, error) {
		return s.broker.Session().Run(ctx, n, id)
	},
		sampler.Options{Access: s.access(), TempDir: work, Disk: s.n.disk, MaxRequestBytes: limit, OpenStream: s.opener().Open})
	s.tasks = tasks.New(s.queue, files, endpoints)
	s.controller = controller
	release, err := s.n.aliasRelease()
	if err != nil {
		return err
	}
	s.statements = statements.New(sqltask.NewService(s.queue, controller, s.broker, files, s.deep), statements.Options{
		Type: sqltask.ControllerType, MaxRequestBytes: limit, Durable: set.Bool("service.msq.intermediate.storage.enable"),
		AliasLines: release < objectResults,
	})
	s.leads[cluster.Overlord] = append(s.leads[cluster.Overlord], s.runQueue)
	return nil
}

// properties are settings that are set, under other names.
func properties(set *config.Settings, names map[string]string) map[string]string {
	out := map[string]string{}
	for name, key := range names {
		if value := set.Text(key); value != "" {
			out[name] = value
		}
	}
	return out
}

// auditTask notes who submitted a task.
func (s *services) auditTask(r *http.Request, t *task.Task) error {
	payload, err := jsontext.Marshal(map[string]string{"id": t.ID, "groupId": t.GroupID, "type": t.Type})
	if err != nil {
		return err
	}
	entry := coordinator.Audit(r, "task", t.DataSource)
	entry.Payload = string(payload)
	return s.n.store.Audit(r.Context(), *entry)
}

// overlordRoutes adds the endpoints of Overlord and Coordinator.
func (s *services) overlordRoutes(mux *edge.Mux) {
	s.tasks.Routes(mux)
	s.sampler.Routes(mux)
	if s.given != nil {
		api.New(s.given).Routes(mux)
	}
	s.coordinator.Routes(mux)
	supervisors.New(s.supervisors, supervisors.Options{
		MaxRequestBytes: s.n.settings.Bytes("service.server.http.maxRequestBytes", 0), Audit: coordinator.Audit, Clock: s.n.o.Clock,
		Checkpoint: s.keepers, Needs: s.supervisorNeeds,
	}).Routes(mux)
}

// overlordPassages are those of the statements that become tasks: the Overlord's, though their
// paths are beside those of queries.
func (s *services) overlordPassages(errors *edge.Errors, elsewhere edge.Handler) []passage {
	if !s.n.settings.Bool("service.sql.enable") {
		return nil
	}
	to := s.n.led(cluster.Overlord, s.management(errors), elsewhere)
	return []passage{{"/service/v2/sql/task", to}, {"/service/v2/sql/statements", to}}
}

// runQueue is what the leading Overlord runs to have tasks done. It begins when the process knows
// the others: a worker that it does not see is lost.
func (s *services) runQueue(ctx context.Context) error {
	for m := s.n.peers.membership; m != nil && !m.Discovered(); {
		changed := s.n.peers.members.Changed()
		if m.Discovered() {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
	return s.queue.Run(ctx)
}
