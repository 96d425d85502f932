package metastore

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/timeline"
)

// SegmentRow is a segment with the columns of the store beside the descriptor. Instants are in
// milliseconds.
type SegmentRow struct {
	*timeline.Segment
	Used bool
	// UsedUpdated is the time of the last change of Used.
	UsedUpdated int64
	Created     int64
	// UpgradedFrom is the id that was appended before a replacement published its bytes again under
	// this id; empty for others.
	UpgradedFrom string
	// TaskID is the task that published it.
	TaskID string
}

// selectSegments reads segment rows; scanSegment reads what it returns.
const selectSegments = "SELECT s.id, s.datasource, s.start_ms, s.end_ms, s.version, s.partition_num, s.shard_spec, s.schema_fingerprint, " +
	"s.file_id, f.load_spec, s.size, s.num_rows, s.times_from, s.times_to, s.binary_version, " +
	"s.details, s.used, s.used_updated, s.created, s.upgraded_from, s.task_id " +
	"FROM segments s LEFT JOIN files f ON f.id = s.file_id "

// scannedRow is a row whose schema has not been looked up yet: that needs the connection, which is
// busy while rows are read.
type scannedRow struct {
	SegmentRow
	fingerprint string
}

type detailsJSON struct {
	LastCompactionState json.RawMessage `json:"lastCompactionState,omitempty"`
	Projections         []string        `json:"projections,omitempty"`
	IndexingState       string          `json:"indexingState,omitempty"`
}

func scanSegment(rows *sql.Rows) (scannedRow, error) {
	var (
		r                                                          = scannedRow{SegmentRow: SegmentRow{Segment: &timeline.Segment{}}}
		id, shard                                                  string
		fingerprint, file, loadSpec, details, upgradedFrom, taskID sql.NullString
		timesFrom, timesTo                                         sql.NullInt64
	)
	err := rows.Scan(&id, &r.ID.DataSource, &r.ID.Interval.Start, &r.ID.Interval.End, &r.ID.Version, &r.ID.Partition, &shard, &fingerprint,
		&file, &loadSpec, &r.Size, &r.Rows, &timesFrom, &timesTo, &r.BinaryVersion,
		&details, &r.Used, &r.UsedUpdated, &r.Created, &upgradedFrom, &taskID)
	if err != nil {
		return r, err
	}
	if r.Shard, err = timeline.ParseShardSpec([]byte(shard)); err != nil {
		return r, err
	}
	if timesFrom.Valid && timesTo.Valid {
		r.Times = chrono.Interval{Start: timesFrom.Int64, End: timesTo.Int64}
	}
	r.fingerprint, r.File, r.UpgradedFrom, r.TaskID = fingerprint.String, file.String, upgradedFrom.String, taskID.String
	if loadSpec.Valid {
		r.Locate(json.RawMessage(loadSpec.String))
	} else if r.IsTombstone() {
		r.Locate(timeline.NewTombstone(r.ID).LoadSpec())
	}
	if details.Valid {
		var d detailsJSON
		if err := json.Unmarshal([]byte(details.String), &d); err != nil {
			return r, err
		}
		r.Details = &timeline.Details{LastCompactionState: d.LastCompactionState, Projections: d.Projections, IndexingState: d.IndexingState}
	}
	return r, nil
}

// resolve looks the schemas of scanned rows up.
func (s *Store) resolve(ctx context.Context, c conn, scanned []scannedRow) ([]SegmentRow, error) {
	rows := make([]SegmentRow, len(scanned))
	for i, r := range scanned {
		if r.fingerprint != "" {
			schema, err := s.schema(ctx, c, r.fingerprint)
			if err != nil {
				return nil, err
			}
			r.Schema = schema
		}
		rows[i] = r.SegmentRow
	}
	return rows, nil
}

// segmentRows runs selectSegments with a condition.
func (s *Store) segmentRows(ctx context.Context, c conn, condition string, args ...any) ([]SegmentRow, error) {
	scanned, err := list(ctx, c, scanSegment, selectSegments+condition, args...)
	if err != nil {
		return nil, err
	}
	return s.resolve(ctx, c, scanned)
}

// overlappingRows returns the segments of a datasource that overlap an interval and meet a
// condition, such as "s.used = 1".
func (s *Store) overlappingRows(
	ctx context.Context, c conn, dataSource string, iv chrono.Interval, condition string, args ...any,
) ([]SegmentRow, error) {
	var scanned []scannedRow
	err := c.eachOverlapping(ctx, dataSource, iv, func(rows *sql.Rows) error {
		r, err := scanSegment(rows)
		scanned = append(scanned, r)
		return err
	}, selectSegments+"WHERE "+condition, args...)
	if err != nil {
		return nil, err
	}
	return s.resolve(ctx, c, scanned)
}

func (s *Store) rowsByID(ctx context.Context, c conn, ids []string) ([]SegmentRow, error) {
	var out []SegmentRow
	err := forIDs(ids, func(marks string, args []any) error {
		rows, err := s.segmentRows(ctx, c, "WHERE s.id IN ("+marks+")", args...)
		out = append(out, rows...)
		return err
	})
	return out, err
}

// timelineOf builds the timeline of rows.
func timelineOf(rows []SegmentRow) *timeline.Timeline {
	changes := make([]timeline.Change, len(rows))
	for i, r := range rows {
		changes[i] = timeline.Change{ID: r.ID, Segment: r.Segment}
	}
	var t *timeline.Timeline
	return t.Apply(changes)
}

// textIDs returns the texts of the ids of segments.
func textIDs(segments []*timeline.Segment) []string {
	ids := make([]string, len(segments))
	for i, s := range segments {
		ids[i] = s.ID.String()
	}
	return ids
}

// insertSegments writes rows that are not there yet, used, with their schemas and files, and puts
// them into the change stream. upgradedFrom has the source of each segment that is a copy.
func (t *tx) insertSegments(ctx context.Context, taskID string, segments []*timeline.Segment, upgradedFrom map[string]string) error {
	var schemas, files, spans, rows [][]any
	known := make(map[string]bool)
	refs := make(map[string]int64)
	for _, s := range segments {
		if s.Schema != nil && !known[s.Schema.Fingerprint()] {
			known[s.Schema.Fingerprint()] = true
			schemas = append(schemas, []any{s.Schema.Fingerprint(), string(s.Schema.JSON()), t.now})
		}
		if s.File != "" {
			if refs[s.File] == 0 {
				files = append(files, []any{s.File, string(s.LoadSpec()), s.Size, 0, t.now})
			}
			refs[s.File]++
		}
	}
	if err := t.insert(ctx, "schemas", "fingerprint, payload, created", "ON CONFLICT (fingerprint) DO NOTHING", schemas); err != nil {
		return err
	}
	if err := t.addReferences(ctx, files, refs); err != nil {
		return err
	}
	spanSeen := make(map[[2]any]bool)
	for _, s := range segments {
		id := s.ID.String()
		shard, err := timeline.MarshalShardSpec(s.Shard)
		if err != nil {
			return err
		}
		var details any
		if d := s.Details; d != nil {
			text, err := json.Marshal(detailsJSON{d.LastCompactionState, d.Projections, d.IndexingState})
			if err != nil {
				return err
			}
			details = string(text)
		}
		var fingerprint any
		if s.Schema != nil {
			fingerprint = s.Schema.Fingerprint()
		}
		var timesFrom, timesTo any
		if !s.Times.IsEmpty() {
			timesFrom, timesTo = s.Times.Start, s.Times.End
		}
		span := spanOf(s.ID.Interval)
		if key := [2]any{s.ID.DataSource, span}; !spanSeen[key] {
			spanSeen[key] = true
			spans = append(spans, []any{s.ID.DataSource, span})
		}
		rows = append(rows, []any{
			id, s.ID.DataSource, s.ID.Interval.Start, s.ID.Interval.End, span, s.ID.Version, s.ID.Partition, string(shard), fingerprint,
			optional(s.File), s.Size, s.Rows, timesFrom, timesTo, s.BinaryVersion,
			details, 1, t.now, t.now, optional(upgradedFrom[id]), optional(taskID),
		})
		t.added(s.ID)
	}
	if err := t.insert(ctx, "spans", "datasource, span", "ON CONFLICT (datasource, span) DO NOTHING", spans); err != nil {
		return err
	}
	return t.insert(ctx, "segments", "id, datasource, start_ms, end_ms, span, version, partition_num, shard_spec, schema_fingerprint, "+
		"file_id, size, num_rows, times_from, times_to, binary_version, "+
		"details, used, used_updated, created, upgraded_from, task_id", "", rows)
}

// UsedSegments returns the used segments of a datasource that overlap any of the intervals, or all
// if there are no intervals, whether or not they are visible, in the order of the texts of their
// ids.
func (s *Store) UsedSegments(ctx context.Context, dataSource string, intervals ...chrono.Interval) ([]SegmentRow, error) {
	if len(intervals) == 0 {
		return s.segmentRows(ctx, s.read(), "WHERE s.datasource = ? AND s.used = 1 ORDER BY s.id", dataSource)
	}
	var out []SegmentRow
	err := s.view(ctx, func(c conn) error {
		out = nil
		seen := make(map[timeline.SegmentID]bool)
		for _, iv := range chrono.Condense(intervals) {
			rows, err := s.overlappingRows(ctx, c, dataSource, iv, "s.used = 1")
			if err != nil {
				return err
			}
			for _, r := range rows {
				if !seen[r.ID] {
					seen[r.ID] = true
					out = append(out, r)
				}
			}
		}
		return nil
	})
	sortByText(out)
	return out, err
}

// Segments returns the rows of ids, used or not, in any order. Unknown ids are omitted.
func (s *Store) Segments(ctx context.Context, ids ...string) ([]SegmentRow, error) {
	return s.rowsByID(ctx, s.read(), ids)
}

// DataSources returns the sorted names of datasources that have used segments, or any segments.
func (s *Store) DataSources(ctx context.Context, includeUnused bool) ([]string, error) {
	if includeUnused {
		return list(ctx, s.read(), scanText, "SELECT d.datasource FROM (SELECT DISTINCT datasource FROM spans) d "+
			"WHERE EXISTS (SELECT 1 FROM segments s WHERE s.datasource = d.datasource) ORDER BY d.datasource")
	}
	// One look into the index for each name, not a walk over all segments.
	return list(ctx, s.read(), scanText, "SELECT d.datasource FROM (SELECT DISTINCT datasource FROM spans) d "+
		"WHERE EXISTS (SELECT 1 FROM segments s WHERE s.datasource = d.datasource AND s.used = 1) ORDER BY d.datasource")
}
