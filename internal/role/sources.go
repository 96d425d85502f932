package role

import (
	"context"
	"net/netip"
	"os"

	"github.com/hengedb/henge/internal/deepstore/s3"
	"github.com/hengedb/henge/internal/export"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/connect"
)

// access says what input sources may touch.
func (s *services) access() *ingest.Access {
	a := &ingest.Access{LocalDirs: s.n.settings.List("service.ingest.local.allowedPaths"),
		HTTPProtocols: s.n.settings.List("service.ingestion.http.allowedProtocols"),
		HTTPHeaders:   s.n.settings.List("service.ingestion.http.allowedHeaders"),
		Getenv:        os.LookupEnv, Clock: s.n.o.Clock,
		HDFS: ingest.HDFSAccess{
			Protocols: s.n.settings.List("service.ingestion.hdfs.allowedProtocols"),
			NameNodes: s.n.settings.List("service.ingestion.hdfs.nameNodes"),
			DefaultFS: s.n.settings.Text("service.ingestion.hdfs.defaultFS"), User: s.n.settings.Text("service.ingestion.hdfs.user"),
		},
		OpenDatasource: func(ctx context.Context, d *ingest.Datasource) (ingest.ObjectReader, error) {
			return s.broker.OpenDatasource(ctx, d)
		}}
	if !s.n.settings.Bool("service.ingest.http.allowPrivate") {
		a.CheckAddress = func(to netip.AddrPort) error {
			if ip := to.Addr().Unmap(); ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() {
				return fault.Forbidden("Address [%s] is private; service.ingest.http.allowPrivate allows input from such", to)
			}
			return nil
		}
	}
	return a
}

// opener opens streams.
func (s *services) opener() *connect.Opener {
	o := &connect.Opener{Access: s.access(), Log: s.n.o.Log}
	if s.sent != nil {
		o.Push = func(name string) (stream.Source, error) { return s.sent.store.Source(name) }
	}
	return o
}

// exports says where INSERT INTO EXTERN may write.
func (s *services) exports() *export.Places {
	set := s.n.settings
	return &export.Places{
		BaseDir:     set.Text("service.export.storage.baseDir"),
		S3Paths:     set.List("service.export.storage.s3.allowedExportPaths"),
		GooglePaths: set.List("service.export.storage.google.allowedExportPaths"),
		S3:          s3Options(set),
		Google: s3.Options{Endpoint: "https://storage.googleapis.com", AccessKey: set.Text("service.google.accessKey"),
			SecretKey: set.Text("service.google.secretKey")},
	}
}
