package timeline

import "strings"

// Interner makes equal parts of descriptors share memory: datasources, versions, schemas, details.
// With it a segment costs a role a few hundred bytes. It never forgets a value; each source of
// descriptors has its own Interner. It is not safe for concurrent use.
type Interner struct {
	texts   map[string]string
	schemas map[string]*Schema
	details map[string]*Details
	shards  map[Numbered]ShardSpec
}

// Segment replaces the parts of s by equal parts seen before. No other goroutine may use s yet.
func (in *Interner) Segment(s *Segment) {
	s.ID.DataSource = in.Text(s.ID.DataSource)
	s.ID.Version = in.Text(s.ID.Version)
	if s.File == s.ID.String() {
		s.File = ""
	}
	if n, ok := s.Shard.(Numbered); ok { // other specs say more than numbers, and differ
		if in.shards == nil {
			in.shards = make(map[Numbered]ShardSpec)
		}
		if in.shards[n] == nil {
			in.shards[n] = n
		}
		s.Shard = in.shards[n]
	}
	if s.Schema != nil {
		s.Schema = in.Schema(s.Schema)
	}
	if s.Details != nil {
		s.Details = in.detailsOf(s.Details)
	}
}

// Text returns the shared string that equals t.
func (in *Interner) Text(t string) string {
	if kept, ok := in.texts[t]; ok {
		return kept
	}
	if in.texts == nil {
		in.texts = make(map[string]string)
	}
	t = strings.Clone(t)
	in.texts[t] = t
	return t
}

// Schema returns the shared schema that equals s.
func (in *Interner) Schema(s *Schema) *Schema {
	if kept, ok := in.schemas[s.fingerprint]; ok {
		return kept
	}
	if in.schemas == nil {
		in.schemas = make(map[string]*Schema)
	}
	in.schemas[s.fingerprint] = s
	return s
}

// SchemaByFingerprint returns a schema seen before, or nil.
func (in *Interner) SchemaByFingerprint(fingerprint string) *Schema { return in.schemas[fingerprint] }

func (in *Interner) detailsOf(d *Details) *Details {
	key := string(d.LastCompactionState) + "\x00" + strings.Join(d.Projections, ",") + "\x00" + d.IndexingState
	if kept, ok := in.details[key]; ok {
		return kept
	}
	if in.details == nil {
		in.details = make(map[string]*Details)
	}
	in.details[key] = d
	return d
}
