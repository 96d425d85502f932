package metastore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/secret"
)

// AuditEntry is one entry of the audit history.
type AuditEntry struct {
	// Key is the object that was changed, Type its kind: "rules", "coordinator.config",
	// "segment.markUnused", ...
	Key, Type string
	// Author and Comment are from the request, Identity is the authenticated caller, IP the address of
	// the client.
	Author, Identity, Comment, IP string
	// Request describes the HTTP request in JSON; may be nil.
	Request json.RawMessage
	// Payload is the text that was written.
	Payload string
	// At is set when the entry is written.
	At int64
}

// audit writes an entry with the rest of the transaction. Nil is none.
func (t *tx) audit(ctx context.Context, e *AuditEntry) error {
	if e == nil {
		return nil
	}
	short := *e
	short.Author, short.Comment = cutHeader(e.Author), cutHeader(e.Comment)
	e = &short
	payload := secret.MaskJSONText(e.Payload) // histories are for more readers than what they tell of
	if limit := t.store.options.MaxAuditBytes; limit > 0 && int64(len(payload)) > limit {
		payload = fmt.Sprintf("Payload was not stored as its size [%d] was more than the limit [%d] set by service.audit.manager.maxPayloadSizeBytes", len(payload), limit)
	}
	t.audited = append(t.audited, *e)
	t.audited[len(t.audited)-1].Payload = payload
	if t.store.options.NoAudit {
		return nil
	}
	id, err := t.counter(ctx, "audit", 1)
	if err != nil {
		return err
	}
	return t.insert(ctx, "audit", "id, type, key, author, identity, comment, ip, request, payload, at", "",
		[][]any{{id, e.Type, e.Key, e.Author, e.Identity, e.Comment, e.IP,
			optional(secret.MaskJSONText(string(e.Request))), payload, t.now}})
}

// maxHeader is how much is kept of what a caller says of a change.
const maxHeader = 1 << 10

func cutHeader(text string) string {
	if len(text) <= maxHeader {
		return text
	}
	return strings.ToValidUTF8(text[:maxHeader], "")
}

// Audit writes an entry for a change outside the store.
func (s *Store) Audit(ctx context.Context, e AuditEntry) error {
	return s.write(ctx, func(ctx context.Context, t *tx) error { return t.audit(ctx, &e) })
}

// AuditFilter selects entries of the audit history.
type AuditFilter struct {
	Type string
	// Key, if not empty, selects the entries of one object.
	Key string
	// Interval, if not nil, selects the entries of an interval, both ends inclusive, oldest first.
	Interval *chrono.Interval
	// Count, without Interval, selects the newest entries, newest first.
	Count int
}

// AuditHistory returns entries of the audit history.
func (s *Store) AuditHistory(ctx context.Context, filter AuditFilter) ([]AuditEntry, error) {
	query := "SELECT key, type, author, identity, comment, ip, request, payload, at FROM audit WHERE type = ?"
	args := []any{filter.Type}
	if filter.Key != "" {
		query += " AND key = ?"
		args = append(args, filter.Key)
	}
	switch {
	case filter.Interval != nil:
		query += " AND at >= ? AND at <= ? ORDER BY at, id"
		args = append(args, filter.Interval.Start, filter.Interval.End)
	case filter.Count > 0:
		query += " ORDER BY at DESC, id DESC LIMIT ?"
		args = append(args, filter.Count)
	default:
		query += " ORDER BY at, id"
	}
	entries, err := list(ctx, s.read(), func(rows *sql.Rows) (e AuditEntry, err error) {
		var request sql.NullString
		err = rows.Scan(&e.Key, &e.Type, &e.Author, &e.Identity, &e.Comment, &e.IP, &request, &e.Payload, &e.At)
		if request.Valid {
			e.Request = json.RawMessage(request.String)
		}
		return e, err
	}, query, args...)
	return slices.Clip(entries), err
}

// DeleteAudit deletes entries written before an instant and returns their number. It also deletes
// the newest entry of each object, because the object itself is stored elsewhere.
func (s *Store) DeleteAudit(ctx context.Context, fence Fence, before int64) (deleted int64, err error) {
	err = s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := fence.check(ctx, t); err != nil {
			return err
		}
		var err error
		deleted, err = t.exec(ctx, "DELETE FROM audit WHERE at < ?", before)
		return err
	})
	return deleted, err
}
