package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

// taskProgress is how far an ingestion has come.
type taskProgress struct {
	rowsRead, bytesRead  int64
	rowsWritten          int64
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

// watchTask polls a task until it ends and returns the rows it wrote. Progress, if not nil, is told how far it has come. When ctx is
// done the task is shut down.
func watchTask(ctx context.Context, c *client, clk clock.Clock, id string, progress func(taskProgress)) (int64, error) {
	path := "/service/indexer/v1/task/" + url.PathEscape(id)
	pause := 20 * time.Millisecond
	for {
		var status struct {
			Status struct {
				StatusCode string  `json:"statusCode"`
				ErrorMsg   *string `json:"errorMsg"`
			} `json:"status"`
		}
		if err := c.call(ctx, http.MethodGet, path+"/status", nil, &status); err != nil {
			if ctx.Err() != nil {
				return 0, shutDown(c, path)
			}
			return 0, err
		}
		done := status.Status.StatusCode != "RUNNING"
		p := readProgress(ctx, c, path)
		if progress != nil {
			progress(p)
		}
		switch {
		case done && status.Status.StatusCode == "FAILED":
			message := "the task gave no reason"
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
	for _, workers := range report.MultiStageQuery.Payload.Counters {
		for _, counters := range workers {
			for name, raw := range counters {
				p.add(name, raw)
			}
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
