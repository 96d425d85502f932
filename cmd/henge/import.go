package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/tasktype/imports"
	"github.com/hengedb/henge/internal/tasktype/imports/peer"
	"github.com/hengedb/henge/internal/timeline"
)

// importOptions are the flags of the command, and what it works with.
type importOptions struct {
	metadata, prefix string
	folder           string
	moved            string
	dataSources      []string
	only             []string
	atOnce           int
	dryRun           bool

	client *client
	clock  clock.Clock
	out    io.Writer
	line   *statusLine
}

// parts are what --only can name.
var parts = []string{"segments", "rules", "config", "compaction", "lookups", "supervisors", "offsets"}

func importCommand() *cobra.Command {
	o := importOptions{clock: clock.System()}
	var who login
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Import an Apache Druid cluster: segments, rules, settings, lookups, supervisors, offsets",
		Long: `Import an Apache Druid cluster: its segments (format version 9), retention rules, dynamic configuration, compaction settings, lookups
and supervisors.

With --metadata the command reads them from the metadata store: PostgreSQL, MySQL or an SQLite file. (Export the tables of Derby to one of
these.) With --folder the command finds segments by the folder names of the deep storage, without metadata.

A running server does the work. Tasks of type 'import' convert the segments, the newest first. Segments can be queried when their time
chunk is complete. They keep their ids, intervals, versions and shard specs. The command skips segments that exist already, so you can
repeat it after an interruption, or to import newer segments. The old cluster can keep running and is not changed.

Segments are read from the locations in the old metadata: a directory that the server can read, S3, Google Cloud Storage or Azure.
If deep storage was copied or mounted elsewhere, set --segments-from. Supervisors are imported suspended, with the offsets
of their streams. The end of the output lists what the server rejected.`,
		Example: `  henge import --metadata postgresql://druid@db.example.com/druid --dry-run
  henge import --metadata postgresql://druid@db.example.com/druid --segments-from /mnt/old/segments
  henge import --folder /mnt/old/segments --datasource wikipedia
  henge import --metadata old.sqlite --only rules,lookups`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.client, err = who.client(cmd); err != nil {
				return err
			}
			o.out = cmd.OutOrStdout()
			o.line = &statusLine{w: cmd.ErrOrStderr(), clock: o.clock}
			return o.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.metadata, "metadata", "", "metadata store: postgresql://..., mysql://..., or an SQLite file")
	f.StringVar(&o.prefix, "prefix", peer.DefaultPrefix, "prefix of the names of its tables")
	f.StringVar(&o.folder, "folder", "", "deep storage without metadata: a directory")
	f.StringVar(&o.moved, "segments-from", "", "current directory of the old deep storage")
	f.StringArrayVar(&o.dataSources, "datasource", nil, "import only this datasource; may be repeated")
	f.StringSliceVar(&o.only, "only", parts, "what to import")
	f.IntVar(&o.atOnce, "tasks", 2, "maximum number of tasks at the same time")
	f.BoolVar(&o.dryRun, "dry-run", false, "only print what would be imported")
	who.add(f, "Router of the cluster to import into")
	return cmd
}

func (o *importOptions) run(ctx context.Context) error {
	found, err := o.find(ctx)
	if err != nil {
		return err
	}
	groups := taskGroups(found.Segments)
	total := int64(0)
	for _, s := range found.Segments {
		total += s.Size
	}
	fmt.Fprintf(o.out, "Found %s of %s (%s bytes), %s, %s, %s, %s.\n", counted(int64(len(found.Segments)), "segment"),
		counted(int64(len(names(found.Segments))), "datasource"), grouped(total), counted(int64(len(found.Rules)), "list")+" of rules",
		counted(int64(len(found.Compaction)), "compaction setting"), counted(int64(len(found.Supervisors)), "supervisor"),
		map[bool]string{true: "lookups", false: "no lookups"}[found.Lookups != nil])
	if found.Skipped > 0 {
		fmt.Fprintf(o.out, "%s can't be read and is skipped: %s\n", counted(int64(found.Skipped), "descriptor"), messageOf(found.SkippedWhy))
	}
	if o.dryRun {
		return o.writePlan(found)
	}
	refused := append(o.settings(ctx, found), o.offsets(ctx, found)...)
	failed, err := o.segments(ctx, groups, len(found.Segments))
	o.line.end()
	if err != nil {
		return err
	}
	refused = append(refused, failed...)
	for _, r := range refused {
		fmt.Fprintln(o.out, "Not imported: "+r)
	}
	if len(refused) > 0 {
		return errReported
	}
	fmt.Fprintln(o.out, "Everything is imported.")
	return nil
}

// find reads the old cluster and keeps what is asked for.
func (o *importOptions) find(ctx context.Context) (*peer.Catalog, error) {
	for _, part := range o.only {
		if !slices.Contains(parts, part) {
			return nil, fault.InvalidInput("Value [%s] of --only is unknown; use %s", part, strings.Join(parts, ", "))
		}
	}
	var found *peer.Catalog
	var err error
	switch {
	case (o.metadata == "") == (o.folder == ""):
		return nil, fault.InvalidInput("Name either the metadata store with --metadata, or a directory with --folder")
	case o.folder != "":
		found, err = peer.ReadFolder(ctx, o.folder)
	default:
		found, err = peer.ReadMetadata(ctx, o.metadata, o.prefix)
	}
	if err != nil {
		return nil, err
	}
	wanted := func(dataSource string) bool {
		return len(o.dataSources) == 0 || slices.Contains(o.dataSources, dataSource)
	}
	found.Segments = slices.DeleteFunc(found.Segments, func(s *timeline.Segment) bool { return !wanted(s.ID.DataSource) })
	if !slices.Contains(o.only, "segments") {
		found.Segments = nil
	}
	for part, list := range map[string]*map[string]json.RawMessage{
		"rules": &found.Rules, "compaction": &found.Compaction, "supervisors": &found.Supervisors, "offsets": &found.Offsets,
	} {
		if !slices.Contains(o.only, part) {
			*list = nil
		}
		maps.DeleteFunc(*list, func(name string, _ json.RawMessage) bool {
			return part != "supervisors" && !wanted(name) && (name != "_default" || len(o.dataSources) > 0)
		})
	}
	if !slices.Contains(o.only, "config") || len(o.dataSources) > 0 {
		found.Coordinator = nil
	}
	if !slices.Contains(o.only, "lookups") || len(o.dataSources) > 0 {
		found.Lookups = nil
	}
	if o.moved == "" {
		return found, nil
	}
	for _, s := range found.Segments {
		spec, err := movedSpec(s.LoadSpec(), s.ID.DataSource, o.moved)
		if err != nil {
			return nil, err
		}
		s.Locate(spec)
	}
	return found, nil
}

// movedSpec makes a load spec of a local path one below another directory: what follows the old one
// begins with the datasource.
func movedSpec(spec json.RawMessage, dataSource, to string) (json.RawMessage, error) {
	var local struct {
		Type string `json:"type"`
		Path string `json:"path"`
	}
	if err := json.Unmarshal(spec, &local); err != nil || local.Type != "local" {
		return spec, nil //nolint:nilerr // of another deep storage
	}
	at := strings.LastIndex(local.Path, "/"+dataSource+"/")
	if at < 0 {
		return nil, fault.InvalidInput("The path [%s] does not name the datasource [%s], so --segments-from does not fit it", local.Path, dataSource)
	}
	local.Path = path.Join(to, local.Path[at:])
	return json.Marshal(local)
}

func names(list []*timeline.Segment) []string {
	seen := map[string]bool{}
	for _, s := range list {
		seen[s.ID.DataSource] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

func (o *importOptions) writePlan(found *peer.Catalog) error {
	type share struct {
		segments int
		bytes    int64
	}
	shares := map[string]share{}
	for _, s := range found.Segments {
		sum := shares[s.ID.DataSource]
		shares[s.ID.DataSource] = share{sum.segments + 1, sum.bytes + s.Size}
	}
	for _, name := range slices.Sorted(maps.Keys(shares)) {
		fmt.Fprintf(o.out, "  %s: %s, %s bytes\n", name, counted(int64(shares[name].segments), "segment"), grouped(shares[name].bytes))
	}
	return nil
}

// settings writes all that is no segment, and returns what was refused.
func (o *importOptions) settings(ctx context.Context, found *peer.Catalog) (refused []string) {
	post := func(what, path string, body any) {
		if err := o.client.call(ctx, http.MethodPost, path, body, nil); err != nil {
			refused = append(refused, what+": "+messageOf(err))
		}
	}
	const coordinator = "/service/coordinator/v1/"
	for _, name := range slices.Sorted(maps.Keys(found.Rules)) {
		post("rules of ["+name+"]", coordinator+"rules/"+url.PathEscape(name), found.Rules[name])
	}
	if found.Coordinator != nil {
		post("dynamic configuration", coordinator+"config", found.Coordinator)
	}
	for _, name := range slices.Sorted(maps.Keys(found.Compaction)) {
		post("compaction settings of ["+name+"]", coordinator+"config/compaction", found.Compaction[name])
	}
	if found.Lookups != nil {
		post("lookups", coordinator+"lookups/config", found.Lookups)
	}
	for _, id := range slices.Sorted(maps.Keys(found.Supervisors)) {
		spec, err := suspended(found.Supervisors[id])
		if err != nil {
			refused = append(refused, "supervisor ["+id+"]: "+messageOf(err))
			continue
		}
		post("supervisor ["+id+"]", "/service/indexer/v1/supervisor", spec)
	}
	return refused
}

// suspended makes a supervisor come without running: the old one may still read the same stream.
func suspended(spec json.RawMessage) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(spec, &fields); err != nil {
		return nil, fault.InvalidInput("its specification can't be read").WithCause(err)
	}
	fields["suspended"] = json.RawMessage("true")
	return json.Marshal(fields)
}

const (
	// taskSegments and taskBytes are what one task is given at most, unless one time chunk is more:
	// small enough to see progress, large enough for the price of a task not to matter.
	taskSegments = 50
	taskBytes    = 4 << 30
)

// taskGroups cuts sorted segments into tasks: of one datasource, and never through a time chunk and
// version.
func taskGroups(list []*timeline.Segment) [][]*timeline.Segment {
	var out [][]*timeline.Segment
	var bytes int64
	for i, s := range list {
		fresh := i == 0 || list[i-1].ID.DataSource != s.ID.DataSource
		whole := fresh || list[i-1].ID.Interval != s.ID.Interval || list[i-1].ID.Version != s.ID.Version
		if fresh || whole && (len(out[len(out)-1]) >= taskSegments || bytes >= taskBytes) {
			out, bytes = append(out, nil), 0
		}
		out[len(out)-1] = append(out[len(out)-1], s)
		bytes += s.Size
	}
	// The newest of every datasource come first.
	turn := map[string]int{}
	at := make(map[*timeline.Segment]int, len(out))
	for _, g := range out {
		at[g[0]] = turn[g[0].ID.DataSource]
		turn[g[0].ID.DataSource]++
	}
	slices.SortStableFunc(out, func(a, b []*timeline.Segment) int { return cmp.Compare(at[a[0]], at[b[0]]) })
	return out
}

// segments runs the tasks, some at a time, and returns those that failed.
func (o *importOptions) segments(ctx context.Context, groups [][]*timeline.Segment, total int) (failed []string, err error) {
	type running struct {
		id    string
		group []*timeline.Segment
	}
	var active []running
	done := 0
	pause := 20 * time.Millisecond
	for len(groups) > 0 || len(active) > 0 {
		for len(groups) > 0 && len(active) < max(1, o.atOnce) {
			group := groups[0]
			id, err := o.submit(ctx, group)
			if err != nil {
				return failed, err
			}
			groups, active = groups[1:], append(active, running{id, group})
		}
		if err := o.clock.Sleep(ctx, pause); err != nil {
			return failed, err // the tasks go on: what they have is right
		}
		pause = min(pause*5/4, time.Second)
		for i, a := range slices.Backward(active) {
			state, why, err := o.state(ctx, a.id)
			if err != nil {
				return failed, err
			}
			if state == "RUNNING" {
				continue
			}
			if state == "FAILED" {
				failed = append(failed, fmt.Sprintf("%s of [%s]: %s", counted(int64(len(a.group)), "segment"), a.group[0].ID.DataSource, why))
			}
			done += len(a.group)
			active = slices.Delete(active, i, i+1)
			pause = 20 * time.Millisecond
		}
		o.line.show("segments imported", int64(done), int64(total))
	}
	return failed, nil
}

// offsets has those of streams kept, by a task for each, and returns those that were refused.
func (o *importOptions) offsets(ctx context.Context, found *peer.Catalog) (refused []string) {
	for _, name := range slices.Sorted(maps.Keys(found.Offsets)) {
		body := map[string]any{"type": imports.Type, "dataSource": name, "offsets": found.Offsets[name]}
		if _, err := o.post(ctx, body); err != nil {
			refused = append(refused, "offsets of ["+name+"]: "+messageOf(err))
		}
	}
	return refused
}

func (o *importOptions) submit(ctx context.Context, group []*timeline.Segment) (id string, err error) {
	return o.post(ctx, map[string]any{"type": imports.Type, "dataSource": group[0].ID.DataSource, "segments": group})
}

// post submits a task.
func (o *importOptions) post(ctx context.Context, body map[string]any) (id string, err error) {
	var submitted struct {
		Task string `json:"task"`
	}
	err = o.client.call(ctx, http.MethodPost, "/service/indexer/v1/task", body, &submitted)
	return submitted.Task, err
}

func (o *importOptions) state(ctx context.Context, id string) (state, why string, err error) {
	var answer struct {
		Status struct {
			StatusCode string  `json:"statusCode"`
			ErrorMsg   *string `json:"errorMsg"`
		} `json:"status"`
	}
	err = o.client.call(ctx, http.MethodGet, "/service/indexer/v1/task/"+url.PathEscape(id)+"/status", nil, &answer)
	if answer.Status.ErrorMsg != nil {
		why = *answer.Status.ErrorMsg
	}
	return answer.Status.StatusCode, why, err
}
