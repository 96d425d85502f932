package imports

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hengedb/henge/internal/deepstore/s3"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
)

// loadSpec is where Druid has a segment.
type loadSpec struct {
	Type   string `json:"type"`
	Path   string `json:"path"`   // local, google
	Bucket string `json:"bucket"` // s3_zip, google
	Key    string `json:"key"`
	// Container and Blob are the container and the blob of azure.
	Container string `json:"containerName"`
	Blob      string `json:"blobPath"`
}

// ObjectStore configures access to an object store other than deep storage. The zero value reads
// without credentials.
type ObjectStore struct {
	// Account is the account of the containers, for stores that have accounts.
	Account string
	// Properties are the properties of the store's input source, including secrets. Endpoint overrides
	// the address; "": the public one.
	Properties map[string]string
	Endpoint   string
}

const (
	// maxFiles bounds the files of one segment: versions, tables, and pieces of 2 GB.
	maxFiles = 10_000
	// maxGrowth is how many times its size a zip may unpack to; more is an attack, not a segment.
	maxGrowth = 2000
)

// sources opens the folders of segments.
type sources struct {
	access        *ingest.Access
	s3            s3.Options
	google, azure ObjectStore
	temp          string
}

// folder is the files of one segment.
type folder struct {
	files fs.FS
	drop  func() error
}

// open finds the files of a segment; the caller drops them.
func (s *sources) open(ctx context.Context, spec json.RawMessage) (*folder, error) {
	var at loadSpec
	if err := json.Unmarshal(spec, &at); err != nil {
		return nil, fault.InvalidInput("A load spec is not a JSON object with texts").WithCause(err)
	}
	switch at.Type {
	case "local":
		return s.local(ctx, at.Path)
	case "s3_zip":
		return s.object(ctx, at.Bucket, at.Key)
	case "google":
		return s.input(ctx, "google", at.Bucket, at.Path, s.google)
	case "azure":
		if s.azure.Account == "" {
			return nil, fault.InvalidInput("Segments in Azure need service.azure.account: the load spec of [%s] does not name it", at.Blob)
		}
		return s.input(ctx, "azureStorage", s.azure.Account, at.Container+"/"+at.Blob, s.azure)
	}
	return nil, fault.Unsupported("Load spec of type [%s] can't be imported; local, s3_zip, google and azure can", at.Type)
}

// local opens a zip, a folder with the files of a segment, or one that holds either as index.zip or
// index.
func (s *sources) local(ctx context.Context, path string) (*folder, error) {
	if err := ingest.AllowLocal(s.access, path); err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fault.NotFound("The segment [%s] can't be read: it is not there, or may not be read", path).WithCause(err)
	}
	if !info.IsDir() {
		file, err := os.Open(path)
		if err != nil {
			return nil, fault.NotFound("The segment [%s] can't be read", path).WithCause(err)
		}
		defer file.Close()
		return s.unzip(ctx, file, info.Size(), path)
	}
	if _, err := os.Stat(filepath.Join(path, "meta.smoosh")); err == nil {
		root, err := os.OpenRoot(path)
		if err != nil {
			return nil, err
		}
		return &folder{root.FS(), root.Close}, nil
	}
	for _, name := range []string{"index.zip", "index"} {
		if _, err := os.Stat(filepath.Join(path, name)); err == nil {
			return s.local(ctx, filepath.Join(path, name))
		}
	}
	return nil, fault.NotFound("The folder [%s] has neither the files of a segment nor index.zip", path)
}

// object opens a zip in S3, which is fetched whole: reading it by ranges would be a request for
// every few kilobytes.
func (s *sources) object(ctx context.Context, bucket, key string) (*folder, error) {
	client, err := s3.Connect(ctx, s.s3)
	if err != nil {
		return nil, err
	}
	object, err := client.Stat(ctx, bucket, key)
	if err != nil {
		return nil, err
	}
	body, _, err := client.Get(ctx, bucket, key, object.ETag, 0, object.Size)
	if err != nil {
		return nil, s3.Changed(bucket, key, err)
	}
	defer body.Close()
	return s.fetched(ctx, body, "s3://"+bucket+"/"+key)
}

// input opens a zip in a store that is read as an input source.
func (s *sources) input(ctx context.Context, kind, bucket, path string, store ObjectStore) (*folder, error) {
	wire := map[string]any{"type": kind, "objects": []map[string]string{{"bucket": bucket, "path": path}}, "properties": store.Properties}
	if store.Endpoint != "" {
		wire["endpointConfig"] = map[string]string{"url": store.Endpoint}
	}
	text, err := json.Marshal(wire)
	if err != nil {
		return nil, err
	}
	source, err := ingest.ParseSource(text)
	if err != nil {
		return nil, err
	}
	found, err := source.List(ctx, s.access)
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, fault.NotFound("The segment [%s/%s] is empty", bucket, path)
	}
	body, err := found[0].Open(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return s.fetched(ctx, body, found[0].Name())
}

// fetched copies a zip from a store and unpacks it.
func (s *sources) fetched(ctx context.Context, body io.Reader, name string) (_ *folder, err error) {
	file, err := os.CreateTemp(s.temp, "import-*.zip")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	size, err := io.Copy(file, body)
	if err != nil {
		return nil, fmt.Errorf("fetching segment [%s]: %w", name, err)
	}
	return s.unzip(ctx, file, size, name)
}

// unzip unpacks a segment into a folder of its own.
func (s *sources) unzip(ctx context.Context, from io.ReaderAt, size int64, name string) (*folder, error) {
	archive, err := zip.NewReader(from, size)
	if err != nil || len(archive.File) > maxFiles {
		return nil, fault.Runtime("Segment [%s] is not a complete zip file", name).WithCause(err)
	}
	dir, err := os.MkdirTemp(s.temp, "import-")
	if err != nil {
		return nil, err
	}
	left := size * maxGrowth
	for _, entry := range archive.File {
		if err = ctx.Err(); err != nil {
			break
		}
		if entry.FileInfo().IsDir() {
			continue
		}
		if err = unpack(entry, dir, &left); err != nil {
			err = fmt.Errorf("unpacking segment [%s]: %w", name, err)
			break
		}
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &folder{root.FS(), func() error { return errors.Join(root.Close(), os.RemoveAll(dir)) }}, nil
}

// unpack writes one file of a zip.
func unpack(entry *zip.File, dir string, left *int64) (err error) {
	if strings.ContainsAny(entry.Name, `/\`) || !filepath.IsLocal(entry.Name) {
		return fault.Runtime("The zip has a file [%.80q], which no segment has", entry.Name)
	}
	in, err := entry.Open()
	if err != nil {
		return fault.Runtime("The zip is damaged").WithCause(err)
	}
	defer in.Close()
	out, err := os.OpenFile(filepath.Join(dir, entry.Name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	n, err := io.Copy(out, io.LimitReader(in, *left+1))
	if err != nil {
		if path := (*fs.PathError)(nil); errors.As(err, &path) {
			return err // of the disk
		}
		return fault.Runtime("The zip is damaged").WithCause(err)
	}
	if *left -= n; *left < 0 {
		return fault.Runtime("The zip file decompresses to more than [%d] times its size", maxGrowth)
	}
	return nil
}
