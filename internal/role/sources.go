package role

import (
	"bytes"
	"context"
	"net/netip"
	"os"
	"strings"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/deepstore/s3"
	"github.com/hengedb/henge/internal/export"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/overlord/uploads"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/stream/connect"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasktype/batch"
	"github.com/hengedb/henge/internal/tasktype/sqltask"
)

// access says what input sources may touch.
func (s *services) access() *ingest.Access {
	a := &ingest.Access{LocalDirs: s.n.settings.List("service.ingestion.local.allowedPaths"), Private: s.n.private(),
		HTTPHosts:     s.n.settings.List("service.ingestion.http.allowedHosts"),
		JDBC:          append([]string{}, s.n.settings.List("service.access.jdbc.allowedProperties")...),
		DropJDBC:      !s.n.settings.Bool("service.access.jdbc.enforceAllowedProperties"),
		HTTPProtocols: s.n.settings.List("service.ingestion.http.allowedProtocols"),
		HTTPHeaders:   s.n.settings.List("service.ingestion.http.allowedHeaders"),
		Getenv:        os.LookupEnv, Clock: s.n.o.Clock, Roots: s.n.outside, Expansion: s.n.settings.Int("service.ingestion.maxExpansion"),
		HDFS: ingest.HDFSAccess{
			Protocols: s.n.settings.List("service.ingestion.hdfs.allowedProtocols"),
			NameNodes: s.n.settings.List("service.ingestion.hdfs.nameNodes"),
			DefaultFS: s.n.settings.Text("service.ingestion.hdfs.defaultFS"), User: s.n.settings.Text("service.ingestion.hdfs.user"),
		},
		OpenDatasource: func(ctx context.Context, d *ingest.Datasource) (ingest.ObjectReader, error) {
			return s.broker.OpenDatasource(ctx, d)
		}, Uploads: leadingUploads{s}}
	a.CheckAddress, a.CheckWeb = s.n.reach(s.n.allowPrivate(true)), s.n.reach(s.n.allowPrivate(false))
	return a
}

// allowPrivate reports whether input may come from private addresses. Where the setting does not
// say
// it, servers of streams and databases are expected there; URLs that a specification names may lead
// there as long as everybody may do everything anyway.
func (n *Node) allowPrivate(server bool) bool {
	const key = "service.ingestion.http.allowPrivate"
	if n.settings.IsSet(key) {
		return n.settings.Bool(key)
	}
	return server || !auth.Configured(n.settings)
}

// reach returns what checks the addresses that input comes from.
func (n *Node) reach(private bool) func(netip.AddrPort) error {
	return func(to netip.AddrPort) error {
		ip := to.Addr().Unmap()
		if within(n.blocked, ip) {
			return fault.Forbidden("Address [%s] is in one of the networks of service.ingestion.http.blockedNetworks", to)
		}
		if !private && (ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified()) {
			return fault.Forbidden("Address [%s] is private; service.ingestion.http.allowPrivate allows input from such", to)
		}
		return nil
	}
}

// private are the files and folders of this process that no input is read from: the data directory
// and what settings name as keys.
func (n *Node) private() []string {
	out := append([]string{n.dir.path}, n.settings.Files()...)
	for key, value := range n.settings.WithPrefix("service.") {
		lower := strings.ToLower(key)
		for _, end := range []string{"keyfile", "keystorepath", "truststorepath", "keytab", "cachedirectory"} {
			if strings.HasSuffix(lower, end) && value != "" {
				out = append(out, value)
			}
		}
	}
	return out
}

// opener opens streams.
func (s *services) opener() *connect.Opener {
	return &connect.Opener{Access: s.access(), Log: s.n.o.Log, Push: s.sentStream}
}

// exports says where INSERT INTO EXTERN may write.
func (s *services) exports() *export.Destinations {
	set := s.n.settings
	return &export.Destinations{
		BaseDir:     set.Text("service.export.storage.baseDir"),
		S3Paths:     set.List("service.export.storage.s3.allowedExportPaths"),
		GooglePaths: set.List("service.export.storage.google.allowedExportPaths"),
		S3:          s3Options(set, s.n.outside),
		Google: s3.Options{Endpoint: "https://storage.googleapis.com", AccessKey: secret.NewText(set.Text("service.google.accessKey")),
			SecretKey: secret.NewText(set.Text("service.google.secretKey")), Roots: s.n.outside},
	}
}

// openUploads opens what keeps the files that clients send, where this process may lead as
// Overlord.
func (s *services) openUploads(ctx context.Context) error {
	if !s.n.has(cluster.Overlord) {
		return nil
	}
	dir, err := s.n.dir.sub("uploads")
	if err != nil {
		return err
	}
	set := s.n.settings
	s.given = uploads.NewStore(uploads.Options{
		Dir: dir, MaxBytes: set.Bytes("service.ingestion.uploads.maxBytes", 0),
		MaxTotal: set.Bytes("service.ingestion.uploads.maxTotalBytes", 0),
		Disk:     s.n.disk, Clock: s.n.o.Clock, Waits: s.taskNames,
	})
	s.n.roles.Go(func() error { return s.given.Run(ctx) })
	return nil
}

// taskNames reports whether a task that has not ended names an upload.
func (s *services) taskNames(upload string) bool {
	for _, t := range s.queue.Active() {
		if bytes.Contains(t.Task.Payload, []byte(upload)) {
			return true
		}
	}
	return false
}

// taskEnded drops the uploads that a task has loaded.
func (s *services) taskEnded(t task.Status) {
	switch t.Task.Type {
	case sqltask.ControllerType, batch.ParallelType, batch.SimpleType:
		if s.given != nil && t.State == task.Succeeded {
			s.given.Loaded(t.Task.Payload)
		}
	}
}

// leadingUploads finds uploads where the leading Overlord has them. It implements ingest.Uploads.
type leadingUploads struct{ s *services }

// Find implements ingest.Uploads.
func (l leadingUploads) Find(ctx context.Context, id string) (*ingest.Uploaded, error) {
	leadership := l.s.n.peers.leaders[cluster.Overlord]
	if leadership.Leads() && l.s.given != nil {
		return l.s.given.Find(ctx, id)
	}
	return (&uploads.Remote{Leader: leadership.Leader, Client: l.s.n.peers.client}).Find(ctx, id)
}
