package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/record"
)

// inputFile is a file of a load.
type inputFile struct {
	name   string // as the user knows it
	entity ingest.Entity
	path   string // of a file of this machine, absolute; "" for others
	uri    string // of others
	size   int64  // as stored; 0: unknown
	// mark tells the file, in the state that it has, from others.
	mark string
}

// inputFiles are the files of a load.
type inputFiles struct {
	list    []inputFile
	uploads []string // ids of copies that the server has
	temp    []string // copies of what can be read only once
	notes   []string
}

func (f *inputFiles) bytes() (n int64) {
	for _, file := range f.list {
		n += file.size
	}
	return n
}

// marks tell the files from all others.
func (f *inputFiles) marks() []string {
	var out []string
	for _, file := range f.list {
		out = append(out, file.mark)
	}
	return out
}

// close removes the copies.
func (f *inputFiles) close() error {
	var err error
	for _, path := range f.temp {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// source is the input source that reads the files where they are.
func (f *inputFiles) source() json.RawMessage {
	var paths, uris, objects []string
	for _, file := range f.list {
		switch {
		case file.path != "":
			paths = append(paths, file.path)
		case strings.HasPrefix(file.uri, "http"):
			uris = append(uris, file.uri)
		default:
			objects = append(objects, file.uri)
		}
	}
	var sources []any
	if len(paths) > 0 {
		sources = append(sources, map[string]any{"type": "local", "files": paths})
	}
	if len(uris) > 0 {
		sources = append(sources, map[string]any{"type": "http", "uris": uris})
	}
	if len(objects) > 0 {
		sources = append(sources, map[string]any{"type": "s3", "uris": objects})
	}
	if len(f.uploads) > 0 {
		sources = append(sources, map[string]any{"type": "upload", "ids": f.uploads})
	}
	if len(sources) == 1 {
		return marshalSource(sources[0])
	}
	return marshalSource(map[string]any{"type": "combining", "delegates": sources})
}

func marshalSource(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("maps of strings always marshal: %v", err))
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// expand finds the files that arguments stand for. What it returns must be closed, also where there
// is an error.
func (o *ingestOptions) expand(ctx context.Context, args []string) (*inputFiles, error) {
	files := &inputFiles{}
	for _, arg := range args {
		if err := o.expandOne(ctx, files, arg); err != nil {
			return files, err
		}
	}
	seen := map[string]bool{}
	files.list = slices.DeleteFunc(files.list, func(f inputFile) bool { // a file that several arguments stand for is loaded once
		again := seen[f.path+"\x00"+f.uri]
		seen[f.path+"\x00"+f.uri] = true
		return again
	})
	if len(files.list) == 0 {
		return files, fault.InvalidInput("There is nothing to load: %s", strings.Join(files.notes, " "))
	}
	return files, nil
}

func (o *ingestOptions) expandOne(ctx context.Context, files *inputFiles, arg string) error {
	scheme, rest, isURL := strings.Cut(arg, "://")
	switch {
	case arg == "-":
		return files.spool("standard input", o.in)
	case isURL && strings.EqualFold(scheme, "file"):
		return files.path(strings.TrimPrefix(rest, "localhost"))
	case isURL:
		return files.url(ctx, arg, strings.ToLower(scheme), &o.survey)
	}
	info, err := os.Stat(arg)
	switch {
	case err != nil && strings.ContainsAny(arg, "*?[{"):
		return files.glob(ctx, arg)
	case err != nil:
		return fault.InvalidInput("File [%s] can't be read: %v", record.Printable(arg), reasonOf(err))
	case info.IsDir():
		return files.folder(arg)
	case info.Mode()&(fs.ModeNamedPipe|fs.ModeCharDevice) != 0: // <(..) of a shell
		f, err := os.Open(arg)
		if err != nil {
			return fault.InvalidInput("File [%s] can't be read: %v", record.Printable(arg), reasonOf(err))
		}
		defer f.Close()
		return files.spool(arg, f)
	}
	return files.path(arg)
}

// path adds a file.
func (f *inputFiles) path(name string) error {
	path, err := filepath.Abs(name)
	if err != nil {
		return fmt.Errorf("finding the path of [%s]: %w", name, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return fault.InvalidInput("File [%s] can't be read: %v", record.Printable(name), reasonOf(err))
	}
	if info.Size() == 0 && info.Mode().IsRegular() {
		return fault.InvalidInput("File [%s] is empty", record.Printable(name))
	}
	entities, err := (&ingest.Local{Files: []string{path}}).List(context.Background(), nil)
	if err != nil {
		return err
	}
	mark := fmt.Sprintf("%s\x00%d\x00%d", path, info.Size(), info.ModTime().UnixNano())
	f.list = append(f.list, inputFile{name: name, entity: entities[0], path: path, size: info.Size(), mark: digest([]byte(mark))})
	return nil
}

// digest is a short name of bytes.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}

// folder adds the files in a folder and those below it. Hidden ones, and those that writers leave
// beside data (_SUCCESS), are left out.
func (f *inputFiles) folder(name string) error {
	before, empty, keys := len(f.list), 0, map[string]bool{}
	err := filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fault.InvalidInput("Folder [%s] can't be read: %v", record.Printable(path), reasonOf(err))
		case path != name && strings.ContainsRune("._", rune(d.Name()[0])):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		}
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return fault.InvalidInput("File [%s] can't be read: %v", record.Printable(path), reasonOf(err))
		case !info.Mode().IsRegular():
			return nil
		case info.Size() == 0:
			empty++
			return nil
		}
		for part := range strings.SplitSeq(filepath.ToSlash(filepath.Dir(strings.TrimPrefix(path, name))), "/") {
			if key, _, ok := strings.Cut(part, "="); ok && key != "" {
				keys[key] = true
			}
		}
		return f.path(path)
	})
	if err != nil {
		return err
	}
	if empty > 0 {
		f.notes = append(f.notes, fmt.Sprintf("%s of folder [%s] is empty and skipped.", counted(int64(empty), "file"), record.Printable(name)))
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		f.notes = append(f.notes, fmt.Sprintf("Values of %q in the names of folders (%s=..) are not loaded, because the files have no such "+
			"column.",
			record.Printable(key), record.Printable(key)))
	}
	if len(f.list) == before {
		return fault.InvalidInput("Folder [%s] has no files to load", record.Printable(name))
	}
	return nil
}

// glob adds the files that a pattern stands for: as a shell does it, and with ** for folders of any
// depth.
func (f *inputFiles) glob(ctx context.Context, pattern string) error {
	var paths []string
	if strings.Contains(pattern, "**") || strings.Contains(pattern, "{") {
		base, filter := ".", pattern
		if at := strings.LastIndexByte(pattern[:strings.IndexAny(pattern, "*?[{")], '/'); at >= 0 {
			base, filter = pattern[:max(at, 1)], pattern[at+1:]
		}
		if !strings.Contains(filter, "/") {
			filter = "{" + filter + ",/}" // a slash within it makes it match whole paths, not names at any depth
		}
		source, err := ingest.ParseSource(marshalSource(map[string]any{"type": "local", "baseDir": base, "filter": filter}))
		if err != nil {
			return err
		}
		entities, err := source.List(ctx, nil)
		if err != nil {
			return err
		}
		for _, e := range entities {
			if path, ok := e.SystemField("__file_path"); ok {
				paths = append(paths, path)
			}
		}
	} else {
		var err error
		if paths, err = filepath.Glob(pattern); err != nil {
			return fault.InvalidInput("Pattern [%s] is not valid", record.Printable(pattern))
		}
	}
	before := len(f.list)
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			continue
		}
		if err := f.path(path); err != nil {
			return err
		}
	}
	if len(f.list) == before {
		return fault.InvalidInput("No file matches [%s]", record.Printable(pattern))
	}
	return nil
}

// url adds an object of a web server or a bucket; a URL of a bucket that ends with a slash stands
// for the objects below it.
func (f *inputFiles) url(ctx context.Context, text, scheme string, o *ingest.SurveyOptions) error {
	wire := map[string]any{"type": scheme, "uris": []string{text}}
	switch scheme {
	case "http", "https":
		wire["type"] = "http"
	case "s3":
		if strings.HasSuffix(text, "/") {
			wire = map[string]any{"type": "s3", "prefixes": []string{text}}
		}
	default:
		return fault.InvalidInput("URL [%s] is not supported; this command reads http, https, s3 and files. Other sources can be loaded "+
			"with SQL: INSERT INTO .. SELECT .. FROM TABLE(EXTERN(..))", record.Printable(text))
	}
	source, err := ingest.ParseSource(marshalSource(wire))
	if err != nil {
		return err
	}
	entities, err := source.List(ctx, o.Access)
	if err != nil {
		return err
	}
	for _, e := range entities {
		uri := text
		if scheme == "s3" {
			uri = e.Name()
		}
		size := max(e.Size(), 0)
		f.list = append(f.list, inputFile{name: uri, entity: e, uri: uri, size: size, mark: digest(fmt.Appendf(nil, "%s\x00%d", uri, size))})
	}
	if len(entities) == 0 {
		return fault.InvalidInput("There is nothing at [%s]", record.Printable(text))
	}
	return nil
}

// spool copies what can be read only once to a temporary file.
func (f *inputFiles) spool(name string, r io.Reader) error {
	t, err := os.CreateTemp("", "henge-ingest-*")
	if err != nil {
		return fmt.Errorf("copying %s: %w", name, err)
	}
	f.temp = append(f.temp, t.Name())
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(t, sum), r)
	if err = errors.Join(err, t.Close()); err != nil {
		return fmt.Errorf("copying %s: %w", name, err)
	}
	if n == 0 {
		return fault.InvalidInput("There is nothing to load: %s is empty", name)
	}
	if err := f.path(t.Name()); err != nil {
		return err
	}
	last := &f.list[len(f.list)-1]
	last.name, last.mark = name, hex.EncodeToString(sum.Sum(nil)[:12])
	return nil
}
