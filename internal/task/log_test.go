package task

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/fault"
)

// The end of a task is one line that tells a failure once.
func TestTheEndOfATaskIsLoggedOnce(t *testing.T) {
	const failed = `level=WARN msg="task failed" task=t ms=-1 datasource=d error=`
	own := fault.InvalidInput("Column [a] is unknown")
	for name, c := range map[string]struct {
		err  error
		stop *Shutdown
		want string
	}{
		"success":           {nil, nil, `level=INFO msg="task succeeded" task=t ms=-1 datasource=d`},
		"failure":           {own, nil, failed + `"Column [a] is unknown"`},
		"on the way":        {fmt.Errorf("reading: %w", own), nil, failed + `"Column [a] is unknown" cause=reading`},
		"its own cause":     {fault.InvalidInput("Column [a] is unknown").WithCause(own), nil, failed + `"Column [a] is unknown"`},
		"a private cause":   {fault.Runtime("Disk is full").WithCause(errors.New("ENOSPC")), nil, failed + `"Disk is full" cause=ENOSPC`},
		"no fault":          {errors.New("x\x1b[31m"), nil, failed + `"x\x1b[31m"`},
		"ended by somebody": {errors.New("context canceled"), &Shutdown{Reason: "no more"}, failed + `"no more"`},
	} {
		var out strings.Builder
		log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		s := EndOf(&Task{ID: "t"}, c.err, c.stop)
		s.Log(t.Context(), log, c.err, "datasource", "d")
		if got := strings.TrimSpace(out.String()); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, c.want)
		}
	}
}
