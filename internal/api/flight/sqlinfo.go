package flight

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/hengedb/henge/internal/arrow"
)

// infoSchema is the schema of GetSqlInfo: numbers of facts with values of several types.
var infoSchema = &arrow.Schema{Fields: []arrow.Field{
	{Name: "info_name", Type: arrow.Uint32},
	{Name: "value", Type: &arrow.Type{Kind: arrow.Union, Children: []arrow.Field{
		{Name: "string_value", Type: arrow.Text, Nullable: true}, {Name: "bool_value", Type: arrow.Boolean, Nullable: true},
		{Name: "bigint_value", Type: arrow.Int64, Nullable: true}, {Name: "int32_bitmask", Type: arrow.Int32, Nullable: true},
		{Name: "string_list", Type: arrow.ListOf(arrow.Text), Nullable: true},
		{Name: "int32_to_int32_list_map", Nullable: true, Type: &arrow.Type{Kind: arrow.Map, Children: []arrow.Field{
			{Name: "entries", Type: &arrow.Type{Kind: arrow.Struct, Children: []arrow.Field{
				{Name: "key", Type: arrow.Int32}, {Name: "value", Type: arrow.ListOf(arrow.Int32), Nullable: true},
			}}},
		}}},
	}}},
}}

// facts are what GetSqlInfo tells, by the numbers of SqlInfo in FlightSql.proto: string, bool,
// int64, int32 or []string.
func (a *API) facts() map[uint32]any {
	out := map[uint32]any{
		0: "Henge", 1: a.o.Version, 2: "1.5.0", 3: a.o.Ingest == nil, 4: true, 5: false, 8: int32(0), 9: true, 10: a.o.Ingest != nil, 11: false,
		100: int32(0), 101: int32(0),
		503: int32(0), 504: `"`, 505: int32(0), 506: true, 507: int32(1), 508: []string{},
		509: []string{"ABS", "CEIL", "EXP", "FLOOR", "LN", "LOG10", "MOD", "POWER", "ROUND", "SIN", "COS", "TAN", "SQRT", "TRUNCATE"},
		510: []string{"CHAR_LENGTH", "CONCAT", "LEFT", "LOWER", "LPAD", "LTRIM", "REPLACE", "RIGHT", "RPAD", "RTRIM", "SUBSTRING",
			"TRIM", "UPPER"},
		511: []string{"COALESCE", "NULLIF", "NVL"},
		512: []string{"CURRENT_DATE", "CURRENT_TIMESTAMP", "EXTRACT", "TIMESTAMPADD", "TIMESTAMPDIFF", "TIME_FLOOR"},
		513: `\`, 514: "", 515: true, 516: true, 518: true, 519: false, 520: true, 521: true, 522: int32(3), 523: true, 524: true,
		525: int32(1), 526: int32(1), 527: false, 528: int32(4), 529: "schema", 530: "procedure", 531: "catalog", 532: true,
		533: int32(1), 534: int32(1), 535: int32(0), 536: false, 537: false, 538: int32(15), 539: true, 540: int32(3),
		562: int64(0), 563: false, 564: int32(0), 565: false, 566: false, 567: int32(2), 568: int32(2), 571: false, 572: false, 573: false,
		574: false, 575: false,
	}
	for n := uint32(500); n <= 502; n++ { // definitions of catalogs, schemas, tables
		out[n] = false
	}
	for n := uint32(541); n <= 561; n++ { // limits: unknown, or none
		out[n] = int64(0)
	}
	out[556] = false
	return out
}

// union gathers the values of a dense union.
type union struct {
	kinds, offsets                []byte
	counts                        [6]int
	texts, textEnds, bools, longs []byte
	ints, lists, items, itemEnds  []byte
	itemCount                     int
}

func newUnion() *union {
	return &union{textEnds: make([]byte, 4), lists: make([]byte, 4), itemEnds: make([]byte, 4)}
}

func (u *union) add(value any) {
	kind := 0
	switch x := value.(type) {
	case string:
		u.texts = append(u.texts, x...)
		u.textEnds = binary.LittleEndian.AppendUint32(u.textEnds, uint32(len(u.texts)))
	case bool:
		kind = 1
		at := u.counts[1]
		if at%8 == 0 {
			u.bools = append(u.bools, 0)
		}
		if x {
			u.bools[at/8] |= 1 << (at % 8)
		}
	case int64:
		kind, u.longs = 2, binary.LittleEndian.AppendUint64(u.longs, uint64(x))
	case int32:
		kind, u.ints = 3, binary.LittleEndian.AppendUint32(u.ints, uint32(x))
	case []string:
		kind = 4
		for _, text := range x {
			u.items = append(u.items, text...)
			u.itemEnds = binary.LittleEndian.AppendUint32(u.itemEnds, uint32(len(u.items)))
			u.itemCount++
		}
		u.lists = binary.LittleEndian.AppendUint32(u.lists, uint32(u.itemCount))
	}
	u.kinds = append(u.kinds, byte(kind))
	u.offsets = binary.LittleEndian.AppendUint32(u.offsets, uint32(u.counts[kind]))
	u.counts[kind]++
}

// sendInfo sends the facts that a client asks for; all, if it names none. Facts that nobody knows
// are left out.
func sendInfo(c *call, in fields) error {
	facts := c.api.facts()
	names := slices.Sorted(maps.Keys(facts))
	if wanted := in.numbers(1); len(wanted) > 0 {
		names = slices.DeleteFunc(names, func(n uint32) bool { return !slices.Contains(wanted, uint64(n)) })
	}
	u, numbers := newUnion(), []byte(nil)
	for _, n := range names {
		numbers = binary.LittleEndian.AppendUint32(numbers, n)
		u.add(facts[n])
	}
	length := func(n int) [2]int64 { return [2]int64{int64(n), 0} }
	nodes := [][2]int64{
		length(len(names)), length(len(names)), length(u.counts[0]), length(u.counts[1]), length(u.counts[2]), length(u.counts[3]),
		length(u.counts[4]), length(u.itemCount), length(0), length(0), length(0), length(0), length(0),
	}
	none := make([]byte, 4) // the one offset of no lists
	buffers := [][]byte{
		nil, numbers, u.kinds, u.offsets, // the union has no validity
		nil, u.textEnds, u.texts, nil, u.bools, nil, u.longs, nil, u.ints,
		nil, u.lists, nil, u.itemEnds, u.items, // lists, then their texts
		nil, none, nil, nil, nil, nil, none, nil, nil, // map, entries, keys, lists, numbers
	}
	if err := sendData(c.stream, &arrow.Message{Metadata: arrow.EncodeSchema(infoSchema)}); err != nil {
		return err
	}
	return sendData(c.stream, arrow.Raw(len(names), nodes, buffers))
}
