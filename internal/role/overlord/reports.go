package overlord

import (
	"context"
	"io"
)

// PutReport keeps the report of an ended task, for kinds of tasks that are made elsewhere. A report that is there already stays.
func (f *Files) PutReport(ctx context.Context, id string, report io.Reader) error {
	return f.putReport(ctx, id, report)
}
