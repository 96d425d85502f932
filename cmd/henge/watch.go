package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

// taskProgress is how far an ingestion has come.
type taskProgress struct {
	rowsRead, bytesRead  int64
	rowsWritten          int64
	rowsExported         int64 // what the last stage read
	filesRead, filesLeft int64
	unparseable          int64
}

type channelCounters struct {
	Rows       []int64 `json:"rows"`
	Bytes      []int64 `json:"bytes"`
	Files      []int64 `json:"files"`
	TotalFiles []int64 `json:"totalFiles"`
}

type taskReport struct {
	MultiStageQuery struct {
		Payload struct {
			Status struct {
				ErrorReport *struct {
					Error struct {
						ErrorCode    string `json:"errorCode"`
						ErrorMessage string `json:"errorMessage"`
					} `json:"error"`
				} `json:"errorReport"`
			} `json:"status"`
			Counters map[string]map[string]map[string]json.RawMessage `json:"counters"`
		} `json:"payload"`
	} `json:"multiStageQuery"`
}

// How long a server may be away while a task is watched, and how often it is asked meanwhile.
const (
	awayFor   = 2 * time.Minute
	awayPause = 250 * time.Millisecond // doubles up to awayMost
	awayMost  = 5 * time.Second
)

// watchTask polls a task until it ends and returns the rows it wrote. Progress, if not nil, is told
// how far it has come, w what happens to the connection: a task goes on when a server that went
// away is back, and so does its watching. When ctx is done the task is shut down.
func watchTask(ctx context.Context, c *client, clk clock.Clock, id string, w io.Writer, progress func(taskProgress)) (int64, error) {
	path := "/service/indexer/v1/task/" + url.PathEscape(id)
	pause := 20 * time.Millisecond
	away := &absence{c: c, clock: clk, id: id, w: w}
	for {
		var status struct {
			Status struct {
				StatusCode string  `json:"statusCode"`
				ErrorMsg   *string `json:"errorMsg"`
			} `json:"status"`
		}
		if err := c.call(ctx, http.MethodGet, path+"/status", nil, &status); err != nil {
			switch {
			case ctx.Err() != nil:
				return 0, shutDown(c, path)
			case !isAway(err):
				return 0, err
			}
			if err := away.wait(ctx, err); ctx.Err() != nil {
				return 0, shutDown(c, path)
			} else if err != nil {
				return 0, err
			}
			continue
		}
		away.over()
		done := status.Status.StatusCode != "RUNNING"
		p := readProgress(ctx, c, path)
		if progress != nil {
			progress(p)
		}
		switch {
		case done && status.Status.StatusCode == "FAILED":
			message := "no reason was reported"
			if status.Status.ErrorMsg != nil {
				message = *status.Status.ErrorMsg
			}
			return 0, fault.InvalidInput("Task [%s] failed: %s", id, message)
		case done:
			return p.rowsWritten, nil
		}
		if clk.Sleep(ctx, pause) != nil {
			return 0, shutDown(c, path)
		}
		pause = min(pause*5/4, 500*time.Millisecond)
	}
}

// absence is a time in which a server does not answer.
type absence struct {
	c     *client
	clock clock.Clock
	id    string
	w     io.Writer
	since time.Time
	pause time.Duration
}

// wait pauses after the server did not answer because of err. It returns an error when that has
// lasted too long.
func (a *absence) wait(ctx context.Context, err error) error {
	now := a.clock.Now()
	if a.since.IsZero() {
		a.since, a.pause = now, awayPause
		fmt.Fprintf(a.w, "\nThe connection to %s is lost. Task [%s] was accepted and resumes when the server is back; waiting.\n", a.c.base, a.id)
	}
	if now.Sub(a.since) > awayFor {
		return fault.InvalidInput("Task [%s] was accepted and resumes when the server is back; do not load again. %s. Follow it with: %s", a.id,
			strings.TrimRight(messageOf(err), "."), followCommand(a.c, a.id))
	}
	pause := a.pause
	a.pause = min(2*a.pause, awayMost)
	return a.clock.Sleep(ctx, pause)
}

// over notes that the server answers.
func (a *absence) over() {
	if !a.since.IsZero() {
		fmt.Fprintln(a.w, "The server is back.")
	}
	a.since = time.Time{}
}

// shutDown ends a task whose user went away.
func shutDown(c *client, path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := c.call(ctx, http.MethodPost, path+"/shutdown", nil, nil); err != nil {
		return err
	}
	return fault.Canceled("interrupted; the task was shut down and nothing was published")
}

func readProgress(ctx context.Context, c *client, path string) (p taskProgress) {
	var report taskReport
	if c.call(ctx, http.MethodGet, path+"/reports", nil, &report) != nil {
		return p // not there yet
	}
	last := -1
	for stage, workers := range report.MultiStageQuery.Payload.Counters {
		exported := int64(0)
		for _, counters := range workers {
			for name, raw := range counters {
				p.add(name, raw)
				var in channelCounters
				if strings.HasPrefix(name, "input") && json.Unmarshal(raw, &in) == nil {
					exported += sum(in.Rows)
				}
			}
		}
		if n, err := strconv.Atoi(stage); err == nil && n > last {
			last, p.rowsExported = n, exported
		}
	}
	return p
}

func (p *taskProgress) add(name string, raw json.RawMessage) {
	switch name {
	case "input0":
		var in channelCounters
		if json.Unmarshal(raw, &in) == nil && len(in.TotalFiles) > 0 { // stages that read other stages have no files
			p.rowsRead += sum(in.Rows)
			p.bytesRead += sum(in.Bytes)
			p.filesRead += sum(in.Files)
			p.filesLeft += sum(in.TotalFiles) - sum(in.Files)
		}
	case "segmentGenerationProgress":
		var out struct {
			RowsPushed int64 `json:"rowsPushed"`
		}
		if json.Unmarshal(raw, &out) == nil {
			p.rowsWritten += out.RowsPushed
		}
	case "warnings":
		var w map[string]json.RawMessage
		if json.Unmarshal(raw, &w) == nil {
			var n int64
			if json.Unmarshal(w["CannotParseExternalData"], &n) == nil {
				p.unparseable += n
			}
		}
	}
}

func sum(list []int64) int64 {
	n := int64(0)
	for _, x := range list {
		n += x
	}
	return n
}
