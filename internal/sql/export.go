package sql

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// exportArguments are the arguments that the destinations of INSERT INTO EXTERN take; true: it must
// be given.
var exportArguments = map[string]map[string]bool{
	"local":  {"exportPath": true},
	"s3":     {"bucket": true, "prefix": true, "assumeRoleArn": false, "assumeRoleExternalId": false},
	"google": {"bucket": true, "prefix": true},
}

// checkExport refuses what can be seen of an INSERT INTO EXTERN without binding anything.
func (b *binder) checkExport(x *syntax.Insert) error {
	switch {
	case x.Replace:
		return refuse("REPLACE operations do no support EXTERN destinations. Use INSERT statements to write to an external destination.")
	case x.PartitionedBy != nil || len(x.ClusteredBy) > 0:
		return fault.Unsupported("Export statements do not support a PARTITIONED BY or CLUSTERED BY clause.")
	case x.Export.Format.Name == "":
		return refuse("Exporting rows into an EXTERN destination requires an AS clause to specify the format, but none was found.")
	case b.settings.outerLimit >= 0:
		return refuse("Context parameter [sqlOuterLimit] cannot be provided on operator [%s]", Insert)
	}
	return nil
}

// export binds INSERT INTO EXTERN. Whether files may be written where it says is decided where they
// are written.
func (b *binder) export(x *syntax.Insert, s *Statement) error {
	destination, err := b.exportDestination(x.Export.Destination)
	if err != nil {
		return err
	}
	if err := b.selectStatement(x.Query, s); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, c := range s.Columns {
		if seen[c.Name] {
			return refuse("Duplicate field in SELECT: [%s]", c.Name)
		}
		seen[c.Name] = true
	}
	s.Kind = Insert
	s.Plan = &plan.Export{Input: s.Plan, Destination: destination, Format: x.Export.Format.Name}
	return nil
}

// exportDestination returns the JSON of a destination and notes that it is written to.
func (b *binder) exportDestination(call *syntax.Call) (json.RawMessage, error) {
	kind := strings.ToLower(call.Name)
	known := exportArguments[kind]
	if known == nil {
		err := fault.InvalidSQL(call.At, "Export destination [%s] is unknown; use one of [google, local, s3]", kind)
		return nil, suggest(err, kind, slices.Sorted(maps.Keys(exportArguments)))
	}
	args, err := newBlock(b, surroundings{}).functionArgs(call)
	if err != nil {
		return nil, err
	}
	object := map[string]string{"type": kind}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		text, err := args.text(name)
		if err != nil {
			return nil, err
		}
		if text != "" {
			object[name] = text
		} else if known[name] {
			return nil, fault.InvalidSQL(call.At, "Export destination [%s] needs the argument [%s]", kind, name)
		}
	}
	if err := args.unused(); err != nil {
		return nil, err
	}
	b.resources[Resource{Name: kind, Type: "EXTERNAL", Write: true}] = true
	text, err := json.Marshal(object)
	return text, err
}
