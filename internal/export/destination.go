package export

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	"github.com/hengedb/henge/internal/deepstore/s3"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/secret"
)

// Destinations say where exports may go. The zero value allows none.
type Destinations struct {
	// BaseDir is the folder of the local disk that exports may go to, or below it; "": none.
	BaseDir string
	// S3Paths and GooglePaths are prefixes, as s3://bucket/path and gs://bucket/path, that exports may
	// go to, or below them.
	S3Paths, GooglePaths []string
	// S3 and Google say how the stores are reached. Google's is used by its S3 form.
	S3, Google s3.Options
}

// Destination is a folder that one export writes to. Its methods are safe for use by many
// goroutines, and stop soon after ctx is done.
type Destination interface {
	// URI is the location of a file in it; of "" that of the folder.
	URI(name string) string
	// Names returns the names of what lies in it or below it, at most limit.
	Names(ctx context.Context, limit int) ([]string, error)
	// Put stores what r holds, size bytes, under a name that must be free. When it returns nil the
	// file is whole and on disk.
	Put(ctx context.Context, name string, r io.ReadSeeker, size int64) error
	// Delete removes files; those that are not there are no error.
	Delete(ctx context.Context, names ...string) error
	// Close ends the use of it.
	Close() error
}

// target is a destination as a statement gives it.
type target struct {
	Type       string      `json:"type"`
	Path       string      `json:"exportPath"`
	Bucket     string      `json:"bucket"`
	Prefix     string      `json:"prefix"`
	AssumeRole string      `json:"assumeRoleArn"`
	ExternalID secret.Text `json:"assumeRoleExternalId"`
}

func (p *Destinations) parse(destination json.RawMessage) (*target, error) {
	var d target
	if err := json.Unmarshal(destination, &d); err != nil {
		return nil, fault.InvalidInput("An export destination can't be read").WithCause(err)
	}
	if p == nil {
		p = &Destinations{}
	}
	switch d.Type {
	case "local":
		_, err := p.below(d.Path)
		return &d, err
	case "s3":
		return &d, allowed("s3", "S3", "service.export.storage.s3.allowedExportPaths", p.S3Paths, &d)
	case "google":
		return &d, allowed("gs", "Google Cloud Storage", "service.export.storage.google.allowedExportPaths", p.GooglePaths, &d)
	}
	return nil, fault.InvalidInput("Export destination [%s] is unknown; use one of [google, local, s3]", d.Type)
}

// Check refuses a destination that exports may not go to, before anything is run.
func (p *Destinations) Check(destination json.RawMessage) error {
	_, err := p.parse(destination)
	return err
}

// Open opens a destination. The caller closes it.
func (p *Destinations) Open(ctx context.Context, destination json.RawMessage) (Destination, error) {
	d, err := p.parse(destination)
	if err != nil {
		return nil, err
	}
	if d.Type == "local" {
		return p.openLocal(d.Path)
	}
	o, scheme := p.S3, "s3"
	if d.Type == "google" {
		o, scheme = p.Google, "gs"
	}
	if d.AssumeRole != "" {
		o.AssumeRole, o.ExternalID = d.AssumeRole, d.ExternalID
	}
	c, err := s3.Connect(ctx, o)
	if err != nil {
		return nil, err
	}
	return &objects{client: c, scheme: scheme, bucket: d.Bucket, prefix: d.key()}, nil
}

// key returns the prefix of a destination as that of keys: without a slash at its beginning, with
// one at its end.
func (d *target) key() string {
	key := strings.Trim(d.Prefix, "/")
	if key == "" {
		return ""
	}
	return key + "/"
}

// allowed refuses prefixes of object stores that are not below one of the paths of a setting.
func allowed(scheme, store, setting string, paths []string, d *target) error {
	if len(paths) == 0 {
		return fault.NotFound("The runtime property `%s` must be configured for %s export.", setting, store)
	}
	for name := range strings.SplitSeq(strings.Trim(d.Prefix, "/"), "/") {
		if name == "." || name == ".." || strings.ContainsAny(name, "\x00\\") {
			return fault.InvalidInput("Export prefix [%s] has a part [%s], which is not allowed", d.Prefix, name)
		}
	}
	if d.Bucket == "" || strings.Contains(d.Bucket, "/") {
		return fault.InvalidInput("[%s] is no name of a bucket", d.Bucket)
	}
	at := scheme + "://" + d.Bucket + "/" + d.key()
	for _, path := range paths {
		if strings.HasPrefix(at, strings.TrimRight(path, "/")+"/") {
			return nil
		}
	}
	return fault.InvalidInput("None of the allowed prefixes matched the input path [%s]. Please reach out to the cluster admin for the whitelisted paths for "+
		"export. The paths are controlled via the property `%s`.", strings.TrimRight(at, "/"), setting)
}
