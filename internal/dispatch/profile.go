package dispatch

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/hengedb/henge/internal/exec"
)

// counters are what an operator did, as a profile block of a stream tells it. Members that are not known are passed over.
type counters struct {
	Rows    int64         `json:"rows"`
	Batches int64         `json:"batches"`
	Bytes   int64         `json:"bytes"`
	Nanos   int64         `json:"nanos"`
	Workers int           `json:"workers"`
	Memory  int64         `json:"memory"`
	Spilled int64         `json:"spilled"`
	CPU     int64         `json:"cpu,omitempty"`
	Scan    *scanCounters `json:"scan,omitempty"`
}

type scanCounters struct {
	Segments int64 `json:"segments"`
	Scanned  int64 `json:"scanned"`
	Pruned   int64 `json:"pruned"`
	Rows     int64 `json:"rows"`
}

// encodeProfile returns a JSON list with the counters of each operator, null for nodes without one.
func encodeProfile(did []*exec.NodeProfile) ([]byte, error) {
	list := make([]*counters, len(did))
	for i, d := range did {
		if d == nil {
			continue
		}
		list[i] = &counters{
			Rows: d.Rows, Batches: d.Batches, Bytes: d.Bytes, Nanos: d.Time.Nanoseconds(), Workers: d.Workers, Memory: d.Memory, Spilled: d.Spilled,
			CPU: d.CPU.Nanoseconds(),
		}
		if d.Scan != nil {
			scan := scanCounters(*d.Scan)
			list[i].Scan = &scan
		}
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("encoding what operators did: %w", err)
	}
	return text, nil
}

func decodeProfile(text []byte) ([]*exec.NodeProfile, error) {
	var list []*counters
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, &broken{corrupt("what operators did is no JSON")}
	}
	out := make([]*exec.NodeProfile, len(list))
	for i, c := range list {
		if c == nil {
			continue
		}
		out[i] = &exec.NodeProfile{
			Rows: c.Rows, Batches: c.Batches, Bytes: c.Bytes, Time: time.Duration(c.Nanos), Workers: c.Workers, Memory: c.Memory, Spilled: c.Spilled,
			CPU: time.Duration(c.CPU),
		}
		if c.Scan != nil {
			scan := exec.ScanProfile(*c.Scan)
			out[i].Scan = &scan
		}
	}
	return out, nil
}
