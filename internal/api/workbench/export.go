package workbench

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/sql"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/export"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/vector"
)

// parquetMedia is the media type of Parquet files.
const parquetMedia = "application/vnd.apache.parquet"

// export answers the rows of a query as a Parquet file. The body is that of a query in SQL.
func (a *API) export(w http.ResponseWriter, r *http.Request) error {
	arrived, dialect := clock.Deadline(0), edge.DialectOf(r.Context())
	req, err := sql.ReadRequest(w, r, a.o.MaxRequestBytes, dialect.Name)
	if err != nil {
		return err
	}
	req.User, req.Access = edge.UserOf(r), auth.Of(r.Context())
	sql.SetHeaders(w.Header(), dialect, req)
	u := sql.Runner{Engine: a.engine, Running: a.running, DefaultTimeout: a.o.DefaultTimeout, MaxTimeout: a.o.MaxTimeout, Door: "export"}
	return u.Run(r.Context(), arrived, req, func(ctx context.Context, q *query.Query, rows query.Rows) error {
		return parquet(ctx, w, q, rows)
	})
}

// parquet writes the rows of a query. An error after the first byte breaks the answer off.
func parquet(ctx context.Context, w http.ResponseWriter, q *query.Query, rows query.Rows) error {
	format, err := export.ParseFormat("parquet")
	if err != nil {
		return err
	}
	out := &begun{w: w}
	file, err := format.NewFile(out, rows.Columns(), rows.Zone())
	if err != nil {
		return err
	}
	for {
		var b *vector.Batch
		if b, err = rows.Next(ctx); err != nil {
			break
		}
		if err := file.Batch(b); err != nil {
			return query.Cause(ctx, err)
		}
	}
	if !errors.Is(err, io.EOF) {
		return query.Cause(ctx, err)
	}
	err = file.Close()
	q.Wrote(out.bytes)
	return query.Cause(ctx, err)
}

// begun says what an answer is with its first byte: what fails before is an error with a status.
type begun struct {
	w     http.ResponseWriter
	bytes int64
}

func (b *begun) Write(p []byte) (int, error) {
	if b.bytes == 0 {
		b.w.Header().Set("Content-Type", parquetMedia)
		b.w.Header().Set("Content-Disposition", `attachment; filename="rows.parquet"`)
	}
	n, err := b.w.Write(p)
	b.bytes += int64(n)
	return n, err
}
