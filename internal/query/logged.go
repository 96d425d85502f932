package query

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/secret"
)

// Logging selects the queries that are logged when they end.
type Logging struct {
	// Log receives the lines; nil: queries are not logged.
	Log *slog.Logger
	// Slow is the minimum duration of queries that are logged as slow; 0: slow queries are not logged.
	Slow time.Duration
}

// loggedSQL is how many bytes of a statement a line has.
const loggedSQL = 500

// ended writes the line of a query: that it failed, or took long. What its user did wrong, or
// ended, is no warning.
func (l Logging) ended(ctx context.Context, q *Info) {
	slow := l.Slow > 0 && q.Took >= l.Slow
	if l.Log == nil || q.Err == nil && !slow {
		return
	}
	level, message := slog.LevelWarn, "slow query"
	list := []slog.Attr{
		slog.Int64("ms", q.Took.Milliseconds()), slog.Int64("rows", q.Rows), slog.Int64("memory", q.Memory),
	}
	if q.Identity != "" {
		list = append(list, slog.String("identity", q.Identity))
	}
	if len(q.DataSources) > 0 {
		list = append(list, slog.String("datasources", strings.Join(q.DataSources, ",")))
	}
	if q.Err != nil {
		message = "query failed"
		f := fault.Classify(q.Err)
		if f.Category == fault.CategoryCanceled {
			message = "query canceled"
		}
		switch Outcome(q.Err) {
		case "invalid", "canceled":
			level = slog.LevelInfo
		}
		list = append(list, slog.String("category", string(f.Category)), slog.String("error", f.Message))
	}
	list = append(list, slog.String("statement", loggedStatement(q.SQL)))
	l.Log.LogAttrs(obs.WithQueryID(context.WithoutCancel(ctx), q.ID), level, message, list...)
}

// loggedStatement is a statement on one line, without secrets: they are taken out before it is cut,
// so that none loses the end by which it is found.
func loggedStatement(text string) string {
	text = strings.Join(strings.Fields(secret.MaskSQL(text)), " ")
	if len(text) > loggedSQL {
		text = strings.ToValidUTF8(text[:loggedSQL], "") + " ..."
	}
	return text
}
