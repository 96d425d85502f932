package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// reference is Druid, which somebody started; it is asked over HTTP in the same words as Henge.
type reference struct {
	server
	stages bool            // it loads by statements
	loaded map[string]bool // datasources
}

// joinReference asks Druid's Router at an address for its version.
func joinReference(ctx context.Context, address string) (*reference, error) {
	if address == "" {
		return nil, errors.New("-engines: Apache Druid takes part if -reference says where its Router listens")
	}
	r := &reference{server: newServer("reference", "druid"), loaded: map[string]bool{}}
	r.base = address
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/status", nil)
	if err != nil {
		return nil, fmt.Errorf("-reference: %w", err)
	}
	text, err := r.do(request)
	if err != nil {
		return nil, err
	}
	var status struct {
		Version string
		Modules []struct{ Artifact string }
	}
	if err := decodeExact(text, &status); err != nil {
		return nil, fmt.Errorf("decoding the status of Apache Druid: %w", err)
	}
	r.told = status.Version
	for _, m := range status.Modules {
		r.stages = r.stages || m.Artifact == "druid-multi-stage-query"
	}
	return r, nil
}

func (r *reference) pid() int { return 0 }

// load replaces the datasource by a statement, or where the extension for that is not loaded by a
// native task.
func (r *reference) load(ctx context.Context, t *table, file string, format fileFormat) (time.Duration, error) {
	r.loaded[t.name] = true
	if r.stages {
		return r.server.load(ctx, t, file, format)
	}
	began := time.Now()
	text, err := r.post(ctx, "/druid/indexer/v1/task", nativeLoad(t, file, format))
	if err != nil {
		return 0, err
	}
	var task struct{ Task string }
	if err := json.Unmarshal(text, &task); err != nil {
		return 0, fmt.Errorf("decoding the task of Apache Druid: %w", err)
	}
	if err := r.await(ctx, task.Task); err != nil {
		return 0, err
	}
	missing := fmt.Sprintf(`SELECT segment_id FROM sys.segments WHERE "datasource" = '%s' AND is_published = 1 AND is_overshadowed = 0 AND is_available = 0`, t.name)
	for {
		rows, err := r.count(ctx, "SELECT COUNT(*) FROM "+t.name)
		if err == nil && rows == int64(t.rows) {
			var left answer
			if left, err = r.ask(ctx, missing); err == nil && len(left.rows) == 0 {
				return time.Since(began), nil
			}
		}
		select { // that there is no such datasource yet is an error, too
		case <-ctx.Done():
			return 0, errors.Join(ctx.Err(), err)
		case <-time.After(100 * time.Millisecond):
		}
		if time.Since(began) > maxLoad {
			return 0, errors.Join(fmt.Errorf("[%s] has [%d] of [%d] rows after %v", t.name, rows, t.rows, maxLoad), err)
		}
	}
}

// maxLoad is how long a load of Druid may take.
const maxLoad = time.Hour

// count asks for one number.
func (r *reference) count(ctx context.Context, sql string) (int64, error) {
	a, err := r.ask(ctx, sql)
	if err != nil {
		return 0, err
	}
	if len(a.rows) != 1 || len(a.rows[0]) != 1 {
		return 0, fmt.Errorf("[%s] gave [%d] rows", sql, len(a.rows))
	}
	n, ok := a.rows[0][0].(json.Number)
	if !ok {
		return 0, fmt.Errorf("[%s] gave [%v]", sql, a.rows[0][0])
	}
	return n.Int64()
}

// nativeLoad is the task that does what loadSQL says.
func nativeLoad(t *table, file string, format fileFormat) map[string]any {
	type object = map[string]any
	times := object{"column": "t", "format": "millis"}
	if t.time != nil {
		times = object{"column": t.time.column, "format": "millis", "missingValue": "2001-01-01"}
	}
	input := object{"type": string(format)}
	switch format {
	case ndjson:
		input["type"] = "json"
	case csv:
		input["findColumnsFromHeader"] = true
	}
	var dimensions []object
	for _, c := range t.columns {
		kind := map[string]string{"BIGINT": "long", "DOUBLE": "double", "FLOAT": "float"}[c.sqlType]
		dimensions = append(dimensions, object{"name": c.name, "type": cmp.Or(kind, "string")})
	}
	return object{"type": "index_parallel", "spec": object{
		"dataSchema": object{
			"dataSource": t.name, "timestampSpec": times, "dimensionsSpec": object{"dimensions": dimensions},
			"granularitySpec": object{"segmentGranularity": t.partitionedBy, "queryGranularity": "NONE", "rollup": false},
		},
		"ioConfig": object{
			"type": "index_parallel", "inputSource": object{"type": "local", "files": []string{file}}, "inputFormat": input,
			"appendToExisting": false,
		},
		"tuningConfig": object{"type": "index_parallel", "partitionsSpec": object{"type": "dynamic"}},
	}}
}

// close leaves Druid without what was loaded.
func (r *reference) close() (err error) {
	for name := range r.loaded {
		request, making := http.NewRequest(http.MethodDelete, r.base+"/druid/coordinator/v1/datasources/"+name, nil)
		if making == nil {
			_, making = r.do(request)
		}
		err = errors.Join(err, making)
	}
	return err
}

func (r *reference) cool() error {
	return errors.New("Apache Druid is not started anew by this program: leave it out of cold work")
}
