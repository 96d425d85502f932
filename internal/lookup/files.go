package lookup

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/vector"
)

// files reads a table from one file: the one that is named, or the newest below a prefix.
type files struct {
	uri    *url.URL
	prefix *url.URL
	// match chooses files below the prefix by their name; nil: all.
	match *regexp.Regexp
	parse parseSpec
}

// parseSpec says how lines become entries.
type parseSpec struct {
	Format        string   `json:"format"`
	Columns       []string `json:"columns"`
	KeyColumn     string   `json:"keyColumn"`
	ValueColumn   string   `json:"valueColumn"`
	HasHeaderRow  bool     `json:"hasHeaderRow"`
	SkipRows      int      `json:"skipHeaderRows"`
	Delimiter     *string  `json:"delimiter"`
	ListDelimiter *string  `json:"listDelimiter"`
	KeyField      string   `json:"keyFieldName"`
	ValueField    string   `json:"valueFieldName"`
}

func parseFiles(text json.RawMessage) (source, error) {
	var wire struct {
		URI     string     `json:"uri"`
		Prefix  string     `json:"uriPrefix"`
		Regex   string     `json:"fileRegex"`
		Version string     `json:"versionRegex"`
		Parse   *parseSpec `json:"namespaceParseSpec"`
	}
	if err := jsontext.Read(text, &wire); err != nil {
		return nil, unreadable("extractionNamespace of type [uri]", err)
	}
	if wire.Regex == "" {
		wire.Regex = wire.Version
	}
	f := &files{}
	var err error
	switch {
	case (wire.URI == "") == (wire.Prefix == ""):
		return nil, fault.InvalidInput("extractionNamespace of type [uri] needs exactly one of [uri] and [uriPrefix]")
	case wire.Parse == nil:
		return nil, fault.InvalidInput("extractionNamespace of type [uri] needs a [namespaceParseSpec]")
	case wire.URI != "":
		f.uri, err = parseURI(wire.URI)
	default:
		if f.prefix, err = parseURI(wire.Prefix); err == nil && f.prefix.Scheme != "file" && f.prefix.Scheme != "s3" {
			return nil, fault.Unsupported("uriPrefix of scheme [%s] can't be listed; use file or s3, or name one [uri]", f.prefix.Scheme)
		}
	}
	if err != nil {
		return nil, err
	}
	if wire.Regex != "" {
		if f.match, err = regexp.Compile("^(?:" + wire.Regex + ")$"); err != nil {
			return nil, fault.InvalidInput("fileRegex [%s] is not a valid regular expression: %v", wire.Regex, err)
		}
	}
	f.parse = *wire.Parse
	if err := f.parse.validate(); err != nil {
		return nil, err
	}
	return f, nil
}

// parseURI reads a URI; a bare path is one of a file.
func parseURI(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fault.InvalidInput("URI [%s] of a lookup is not readable", text)
	}
	switch u.Scheme {
	case "", "file":
		u.Scheme = "file"
		if u.Path == "" {
			u.Path = u.Opaque
		}
		return u, nil
	case "http", "https", "s3":
		return u, nil
	}
	return nil, fault.InvalidInput("URI [%s] of a lookup has an unknown scheme; known are [file, http, https, s3]", secret.URL(u))
}

func (p *parseSpec) validate() error {
	switch p.Format {
	case "csv", "tsv":
		if len(p.Columns) == 0 && !p.HasHeaderRow {
			return fault.InvalidInput("namespaceParseSpec of format [%s] needs [columns] or [hasHeaderRow]", p.Format)
		}
		if len(p.Columns) == 1 || (p.KeyColumn == "") != (p.ValueColumn == "") {
			return fault.InvalidInput("namespaceParseSpec of format [%s] needs two columns, and both or neither of [keyColumn] and [valueColumn]", p.Format)
		}
		if len(p.Columns) == 0 && p.KeyColumn == "" {
			return fault.InvalidInput("namespaceParseSpec with [hasHeaderRow] and no [columns] needs [keyColumn] and [valueColumn]")
		}
		for _, name := range []string{p.KeyColumn, p.ValueColumn} {
			if name != "" && len(p.Columns) > 0 && !slices.Contains(p.Columns, name) {
				return fault.InvalidInput("namespaceParseSpec has no column [%s]; its columns are [%s]", name, strings.Join(p.Columns, ", "))
			}
		}
		return nil
	case "customJson":
		if p.KeyField == "" || p.ValueField == "" {
			return fault.InvalidInput("namespaceParseSpec of format [customJson] needs [keyFieldName] and [valueFieldName]")
		}
		return nil
	case "simpleJson":
		return nil
	}
	return fault.InvalidInput("namespaceParseSpec format [%s] is unknown; known are [csv, tsv, customJson, simpleJson]", p.Format)
}

// table describes the lines of a source as the reader of ingestion takes them, with the columns to
// read: key and value, or whole lines.
func (p *parseSpec) table(from ingest.Source) (*ingest.Table, error) {
	spec, key, value := map[string]any{"type": "json"}, p.KeyField, p.ValueField
	switch p.Format {
	case "csv", "tsv":
		key, value = p.KeyColumn, p.ValueColumn
		if key == "" {
			key, value = p.Columns[0], p.Columns[1]
		}
		spec = map[string]any{"type": p.Format, "skipHeaderRows": p.SkipRows}
		if len(p.Columns) > 0 {
			spec["columns"] = p.Columns
			if p.HasHeaderRow {
				spec["skipHeaderRows"] = p.SkipRows + 1 // the names are known: the header is one more row to skip
			}
		} else {
			spec["findColumnsFromHeader"] = true
		}
		if p.Delimiter != nil {
			spec["delimiter"] = *p.Delimiter
		}
		if p.ListDelimiter != nil {
			spec["listDelimiter"] = *p.ListDelimiter
		}
	case "simpleJson":
		spec = map[string]any{"type": "lines"}
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	format, err := ingest.ParseFormat(text)
	if err != nil {
		return nil, err
	}
	fields := []ingest.Field{{Name: key, Type: vector.String}, {Name: value, Type: vector.String}}
	switch {
	case p.Format == "simpleJson":
		fields = []ingest.Field{{Name: "line", Type: vector.String}}
	case key == value:
		fields = fields[:1]
	}
	return ingest.NewTable(from, format, fields)
}

// read implements source. The mark of a file is its size and time of change; objects of web servers
// are read each time.
func (f *files) read(
	ctx context.Context, access *ingest.Access, last string, add func(key, value string) error,
) (changed bool, mark string, err error) {
	uri := f.uri
	switch {
	case uri != nil:
	case f.prefix.Scheme == "s3":
		if uri, mark, err = f.newestObject(ctx, access); err != nil || mark != "" && mark == last {
			return false, mark, err
		}
	default:
		if uri, err = f.newest(ctx, access); err != nil {
			return false, "", err
		}
	}
	from, err := sourceOf(uri)
	if err != nil {
		return false, "", err
	}
	if uri.Scheme == "file" {
		if _, err := from.List(ctx, access); err != nil { // what may be read is decided before anything is asked of the file
			return false, "", err
		}
		if info, err := os.Stat(uri.Path); err == nil {
			mark = uri.Path + " " + strconv.FormatInt(info.Size(), 10) + " " + info.ModTime().UTC().String()
		}
		if mark != "" && mark == last {
			return false, mark, nil
		}
	}
	t, err := f.parse.table(from)
	if err != nil {
		return false, "", err
	}
	return true, mark, f.parse.readAll(ctx, t, access, add)
}

// sourceOf gives the input source of ingestion that reads a URI.
func sourceOf(uri *url.URL) (ingest.Source, error) {
	spec := map[string]any{"type": uri.Scheme, "uris": []string{uri.String()}}
	switch uri.Scheme {
	case "file":
		spec = map[string]any{"type": "local", "files": []string{uri.Path}}
	case "https":
		spec["type"] = "http"
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	return ingest.ParseSource(text)
}

// matches reports whether a file below the prefix is one of the lookup's.
func (f *files) matches(name string) bool { return f.match == nil || f.match.MatchString(name) }

// noFile is the fault of a prefix that no file is below.
func (f *files) noFile() error {
	return fault.InvalidInput("No file below [%s] matches the lookup", f.prefix)
}

// newestObject returns the object below the prefix that was changed last, and its mark.
func (f *files) newestObject(ctx context.Context, access *ingest.Access) (*url.URL, string, error) {
	text, version, err := ingest.NewestS3(ctx, f.prefix.String(), access, f.matches)
	if err != nil {
		return nil, "", err
	}
	if text == "" {
		return nil, "", f.noFile()
	}
	uri, err := url.Parse(text)
	return uri, text + " " + version, err
}

// newest returns the file below the prefix that was changed last. A prefix that is no folder is in
// one, whose files fileRegex chooses from.
func (f *files) newest(ctx context.Context, access *ingest.Access) (*url.URL, error) {
	dir := strings.TrimSuffix(f.prefix.Path, "/")
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	text, err := json.Marshal(map[string]string{"type": "local", "baseDir": dir, "filter": "*"})
	if err != nil {
		return nil, err
	}
	from, err := ingest.ParseSource(text)
	if err != nil {
		return nil, err
	}
	list, err := from.List(ctx, access)
	if err != nil {
		return nil, err
	}
	var best string
	var bestInfo os.FileInfo
	for _, e := range list {
		path, _ := e.SystemField("__file_path")
		if !f.matches(path[strings.LastIndexByte(path, '/')+1:]) {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			continue // it was removed meanwhile
		}
		if bestInfo == nil || info.ModTime().After(bestInfo.ModTime()) {
			best, bestInfo = path, info
		}
	}
	if bestInfo == nil {
		return nil, f.noFile()
	}
	return &url.URL{Scheme: "file", Path: best}, nil
}

// readAll reads every entry of a table of lines. Lines without a key or a value are left out.
func (p *parseSpec) readAll(ctx context.Context, t *ingest.Table, access *ingest.Access, add func(key, value string) error) error {
	options := &ingest.Options{Access: access}
	splits, err := t.Splits(ctx, options, 0)
	if err != nil {
		return err
	}
	for _, split := range splits {
		reader, err := t.Open(ctx, split, options)
		if err != nil {
			return err
		}
		if err := errors.Join(p.readSplit(ctx, reader, add), reader.Close()); err != nil {
			return err
		}
	}
	return nil
}

func (p *parseSpec) readSplit(ctx context.Context, reader *ingest.Reader, add func(key, value string) error) error {
	for {
		b, err := reader.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range b.Rows() {
			if p.Format == "simpleJson" {
				err = addMembers(b.Cols[0].StringAt(i), add)
			} else if value := b.Cols[len(b.Cols)-1]; !b.Cols[0].IsNull(i) && !value.IsNull(i) {
				err = add(b.Cols[0].StringAt(i), value.StringAt(i))
			}
			if err != nil {
				return err
			}
		}
	}
}

// addMembers adds the members of a line that is an object.
func addMembers(line string, add func(key, value string) error) error {
	if strings.TrimSpace(line) == "" {
		return nil
	}
	var members map[string]any
	dec := json.NewDecoder(strings.NewReader(line))
	dec.UseNumber()
	if err := dec.Decode(&members); err != nil {
		return fault.InvalidInput("A line of a simpleJson file is not an object: %s", fault.JSONProblem(err))
	}
	for k, v := range members {
		if text, ok := scalarText(v); ok {
			if err := add(k, text); err != nil {
				return err
			}
		}
	}
	return nil
}
