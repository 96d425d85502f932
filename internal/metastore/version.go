package metastore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/tasklock"
)

// firstAppendVersion is the version of segments appended under an APPEND lock where there was
// nothing: below every granted one.
const firstAppendVersion = "1970-01-01T00:00:00.000Z"

// grantVersion returns the version of a new lock: the present, but above every version that
// segments of the datasource have or had in the interval, used, unused or pending, and above every
// version that was granted on the datasource. So neither two locks in one millisecond nor a clock
// that was set back can hide new data behind old. held are the locks that overlap the interval.
func (t *tx) grantVersion(ctx context.Context, dataSource string, iv chrono.Interval, held []tasklock.Lock) (string, error) {
	highest, err := t.highestVersion(ctx, dataSource, iv)
	if err != nil {
		return "", err
	}
	for _, l := range held {
		highest = max(highest, l.Version)
	}
	counter := "granted:" + dataSource
	var granted int64
	if err := t.row(ctx, []any{&granted}, "SELECT value FROM counters WHERE name = ?", counter); err != nil && !errors.Is(err, errNoRow) {
		return "", err
	}
	at := max(t.now, granted+1)
	if ms, ok := chrono.ParseISO(highest); ok {
		at = max(at, ms+1)
	}
	_, err = t.exec(ctx, "INSERT INTO counters (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", counter, at)
	if err != nil {
		return "", err
	}
	version := chrono.FormatMillis(at, chrono.UTC)
	if version <= highest {
		// A version that is no instant and sorts after them all: only a longer text is above it.
		version = highest + "S"
	}
	return version, nil
}

// highestVersion returns the highest version of segments and pending segments that overlap the
// interval; empty if there are none.
func (t *tx) highestVersion(ctx context.Context, dataSource string, iv chrono.Interval) (string, error) {
	highest := ""
	note := func(rows *sql.Rows) error {
		var version sql.NullString
		err := rows.Scan(&version)
		highest = max(highest, version.String)
		return err
	}
	if err := t.eachOverlapping(ctx, dataSource, iv, note, "SELECT MAX(s.version) FROM segments s WHERE 1 = 1"); err != nil {
		return "", err
	}
	err := t.eachLength(ctx, "pending_segments", "", dataSource, iv, func(condition string, args []any) error {
		return t.each(ctx, note, "SELECT MAX(version) FROM pending_segments "+condition, args...)
	})
	return highest, err
}
