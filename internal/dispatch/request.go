package dispatch

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/plan/wire"
)

// Version is the newest version of requests and streams that this release supports
// (cluster.Protocol). It also supports the previous version. A Broker uses the newest version that
// both sides support. A server rejects unknown versions, and the Broker then uses another server.
const Version = 3

// versionOthers is the first in which a server can be asked to merge what others read.
const versionOthers = 2

// versionReport is the first in which a server that merges what others read tells what their
// operators did.
const versionReport = 3

// spoken returns the newest version that two processes both know, of which one may not say.
func spoken(own, other int) byte {
	if own == 0 {
		own = Version
	}
	if other == 0 {
		other = own
	}
	return byte(min(own, other))
}

// knows reports whether who knows versions up to newest knows one.
func knows(newest int, version byte) bool {
	if newest == 0 {
		newest = Version
	}
	return version > 0 && int(version) <= newest && int(version) >= newest-1
}

// ContentType is the content type of requests and streams.
const ContentType = "application/x-henge-fragment"

// Path is the path of fragments on servers.
const Path = "/service-internal/v1/fragments"

const (
	requestMagic = "HGFQ"
	requestHead  = 16

	flagGroups   = 1
	flagStreamed = 2
)

// ErrCorrupt marks requests and streams that are damaged.
var ErrCorrupt = errors.New("corrupt fragment")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func corrupt(why string) error {
	return fmt.Errorf("a fragment of a query: %w", fault.Runtime("A message between servers can't be read: %s.", why).WithCause(ErrCorrupt))
}

// Request is the request to a server to run a fragment over some segments.
type Request struct {
	// QueryID identifies the query in logs and lists.
	QueryID string `json:"queryId"`
	// TimeZone and Now are those of the query; BatchRows is the size of its batches.
	TimeZone  string `json:"timeZone"`
	Now       int64  `json:"now"`
	BatchRows int    `json:"batchRows"`
	// TimeoutMillis is the remaining time of the query; 0: no limit.
	TimeoutMillis int64 `json:"timeoutMillis,omitempty"`
	// Priority is the priority of the query for the cores of the server, Lane the lane in which it
	// counts.
	Priority int64  `json:"priority,omitempty"`
	Lane     string `json:"lane,omitempty"`
	// CPUMillis is the limit of the CPU time on the server, and CPUOver the error for exceeding it; 0:
	// no limit. Servers that do not know these members have no limit.
	CPUMillis int64  `json:"cpuMillis,omitempty"`
	CPUOver   string `json:"cpuOver,omitempty"`
	// NoCacheUse and NoCachePopulate disable reading from and writing to the server's cache of single
	// segments.
	NoCacheUse      bool `json:"noCacheUse,omitempty"`
	NoCachePopulate bool `json:"noCachePopulate,omitempty"`
	// Skip is the number of rows to skip at the start of a streamed fragment.
	Skip int64 `json:"skip,omitempty"`
	// Need is Need of the fragment.
	Need []bool `json:"need,omitempty"`
	// Places are plan.SubqueryPositions of the plan.
	Places []fault.Span `json:"places,omitempty"`
	// Profile asks for what the operators did. Servers that do not know it give the rows alone.
	Profile bool `json:"profile,omitempty"`
	// BySegment requests the groups of each segment separately, with the boundaries. Servers that do
	// not know this member return the groups of all segments.
	BySegment bool `json:"bySegment,omitempty"`
	// Pinned is the number of the published timeline that the query has pinned. It determines the
	// visible rows of live segments.
	Pinned int64 `json:"pinned,omitempty"`
	// Segments are read in this order.
	Segments []SentSegment `json:"segments"`
	// Others are the shares of other servers, which this server requests and merges with its own rows
	// or groups. From version 2 on.
	Others []SentShare `json:"others,omitempty"`
	// Servers are the servers of Others, by number.
	Servers []SentServer `json:"servers,omitempty"`

	// Version is the version of the request and its response; 0: the newest.
	Version  byte `json:"-"`
	Groups   bool `json:"-"`
	Streamed bool `json:"-"`
	// Plan is the plan of the fragment, encoded by package wire.
	Plan []byte `json:"-"`
}

// SentSegment is a segment of a request.
type SentSegment struct {
	ID string `json:"id"`
	// Visible is the part of time in which its rows count.
	Visible [2]int64 `json:"visible"`
	// LoadSpec is the location of its file; empty: the server has announced the segment.
	LoadSpec json.RawMessage `json:"loadSpec,omitempty"`
	// File is the fingerprint of the file of a segment without LoadSpec, if it is known: a server with
	// another file under this id does not have the segment.
	File string `json:"file,omitempty"`
	// Rows is its number of rows; 0: not given.
	Rows int64 `json:"rows,omitempty"`
	// Holders are the servers of the segment, by number, for the server that requests the share.
	Holders []int `json:"holders,omitempty"`
	// Live is true for a live segment; its rows are those that are visible in the pinned state. Only
	// processes that have announced live segments get such requests.
	Live bool `json:"live,omitempty"`
}

// SentShare is the work of another server: segments to read, and shares to merge.
type SentShare struct {
	// Server is an index into the servers of the request.
	Server   int           `json:"server"`
	Segments []SentSegment `json:"segments"`
	Others   []SentShare   `json:"others,omitempty"`
}

// SentServer is the address of a server.
type SentServer struct {
	Name     string `json:"name"`
	URL      string `json:"url"`
	Rank     int    `json:"priority,omitempty"`
	Protocol int    `json:"protocol,omitempty"`
}

// Interval returns the visible interval of the segment.
func (s *SentSegment) Interval() chrono.Interval {
	return chrono.Interval{Start: s.Visible[0], End: s.Visible[1]}
}

// Rows returns the number of rows of the segments of the request, including those that other
// servers read.
func (r *Request) Rows() int64 { return rowsOf(r.Segments, r.Others) }

func rowsOf(segments []SentSegment, others []SentShare) (rows int64) {
	for _, s := range segments {
		rows += max(s.Rows, 0)
	}
	for _, o := range others {
		rows += rowsOf(o.Segments, o.Others)
	}
	return rows
}

// Height is the nesting depth of the shares of the request: its server waits only for requests of a
// smaller height. 0: it does not wait for other servers.
func (r *Request) Height() int { return height(r.Others) }

func height(others []SentShare) (h int) {
	for _, o := range others {
		h = max(h, 1+height(o.Others))
	}
	return h
}

// Fragment returns the requested fragment.
func (r *Request) Fragment() (*exec.Fragment, error) {
	node, err := wire.Decode(r.Plan)
	if err != nil {
		return nil, err
	}
	plan.SetSubqueryPositions(node, r.Places)
	if r.Need != nil && len(r.Need) != len(node.Columns()) {
		return nil, corrupt("the columns that are wanted are not those of the plan")
	}
	return &exec.Fragment{Plan: node, Need: r.Need, Groups: r.Groups, Streamed: r.Streamed}, nil
}

// Append appends the bytes of a request.
func (r *Request) Append(dst []byte) ([]byte, error) {
	header, err := json.Marshal(r)
	if err != nil {
		return dst, fmt.Errorf("encoding a fragment: %w", err)
	}
	flags := byte(0)
	if r.Groups {
		flags |= flagGroups
	}
	if r.Streamed {
		flags |= flagStreamed
	}
	start := len(dst)
	dst = append(dst, requestMagic...)
	dst = append(dst, spoken(int(r.Version), 0), flags, 0, 0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(header)))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(r.Plan)))
	dst = append(append(dst, header...), r.Plan...)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli)), nil
}

// ReadRequest reads a request to its end. newest is the newest version that this process supports;
// 0: Version.
func ReadRequest(in io.Reader, newest int) (*Request, error) {
	head := make([]byte, requestHead)
	if _, err := io.ReadFull(in, head); err != nil {
		return nil, corrupt("it has no header")
	}
	if string(head[:4]) != requestMagic {
		return nil, corrupt("it is not a request")
	}
	if !knows(newest, head[4]) {
		return nil, fault.Unavailable("A fragment of version [%d] is not known to this release", head[4])
	}
	header, plan := binary.LittleEndian.Uint32(head[8:]), binary.LittleEndian.Uint32(head[12:])
	if header > maxHeaderBytes || plan > maxPlanBytes {
		return nil, corrupt("it claims to be larger than requests are")
	}
	// Grow with what arrives, not with what the header claims.
	body, err := io.ReadAll(io.LimitReader(in, int64(header)+int64(plan)+5))
	if err != nil {
		return nil, fmt.Errorf("reading a fragment: %w", err)
	}
	if len(body) != int(header+plan)+4 {
		return nil, corrupt("its length is wrong")
	}
	sum := crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, body[:header+plan])
	if sum != binary.LittleEndian.Uint32(body[header+plan:]) {
		return nil, corrupt("its checksum is wrong")
	}
	r := &Request{Version: head[4]}
	if err := json.Unmarshal(body[:header], r); err != nil {
		return nil, corrupt("its header is not JSON")
	}
	if len(r.Others) > 0 && (head[4] < versionOthers || head[5]&flagStreamed != 0) || !r.sound(r.Others, 1) {
		return nil, corrupt("what others are to read can't be meant")
	}
	r.Plan, r.Groups, r.Streamed = body[header:header+plan], head[5]&flagGroups != 0, head[5]&flagStreamed != 0
	growing := slices.ContainsFunc(r.Segments, func(s SentSegment) bool { return s.Live })
	if r.BySegment && (!r.Groups || r.Profile || growing || len(r.Others) > 0) {
		return nil, corrupt("what is wanted by segment can't be meant")
	}
	return r, nil
}
