package dispatch

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/hengedb/henge/internal/exec"
)

// counters are what an operator did, as a profile block of a stream tells it. Members that are not
// known are passed over.
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

// report is what a server says of its operators and of those of the servers whose shares it has
// merged, from version 3 on.
type report struct {
	Server    string      `json:"server,omitempty"` // who asked the sender knows its name
	Operators []*counters `json:"operators"`
	Silent    int         `json:"silent,omitempty"`
	Others    []report    `json:"others,omitempty"`
}

// encodeProfile returns what the operators did as JSON: before version 3 a list with the counters
// of each, null for nodes without one; from then on an object with that list and those of others.
func encodeProfile(part *exec.PartProfile, version byte) ([]byte, error) {
	var out any = countersOf(part.Did)
	if version >= versionReport {
		out = tell(part)
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encoding what operators did: %w", err)
	}
	return text, nil
}

func tell(part *exec.PartProfile) report {
	out := report{Server: part.Server, Operators: countersOf(part.Did), Silent: part.Silent}
	for i := range part.Others {
		out.Others = append(out.Others, tell(&part.Others[i]))
	}
	return out
}

func countersOf(did []*exec.NodeProfile) []*counters {
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
	return list
}

func decodeProfile(text []byte, version byte) (*exec.PartProfile, error) {
	var sent report
	var err error
	if version >= versionReport {
		err = json.Unmarshal(text, &sent)
	} else {
		err = json.Unmarshal(text, &sent.Operators)
	}
	if err != nil {
		return nil, &broken{corrupt("the profile is not JSON")}
	}
	part, ok := sent.part(0)
	if !ok {
		return nil, &broken{corrupt("what operators did can't be meant")}
	}
	return &part, nil
}

// part returns what a server has told; false: it can't be.
func (t *report) part(depth int) (out exec.PartProfile, ok bool) {
	out = exec.PartProfile{Server: t.Server, Did: make([]*exec.NodeProfile, len(t.Operators)), Silent: t.Silent}
	if depth > maxDepth || t.Silent < 0 || (t.Server == "") != (depth == 0) {
		return out, false
	}
	for i, c := range t.Operators {
		if c == nil {
			continue
		}
		out.Did[i] = &exec.NodeProfile{
			Rows: c.Rows, Batches: c.Batches, Bytes: c.Bytes, Time: time.Duration(c.Nanos), Workers: c.Workers, Memory: c.Memory, Spilled: c.Spilled,
			CPU: time.Duration(c.CPU),
		}
		if c.Scan != nil {
			scan := exec.ScanProfile(*c.Scan)
			out.Did[i].Scan = &scan
		}
	}
	for i := range t.Others {
		other, ok := t.Others[i].part(depth + 1)
		if !ok {
			return out, false
		}
		out.Others = append(out.Others, other)
	}
	return out, true
}

// part returns what the stream of a share's server has told. Of those that it merges it is silent
// where it speaks a version that does not tell.
func (s *StreamReader) part(of *share) exec.PartProfile {
	if s.did == nil {
		return exec.PartProfile{Server: of.server.Name}
	}
	out := *s.did
	out.Server = of.server.Name
	if s.version < versionReport {
		out.Silent = of.servers() - 1
	}
	return out
}
