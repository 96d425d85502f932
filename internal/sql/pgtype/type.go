package pgtype

// OID is the OID of a type.
type OID uint32

// The types that have names in this package.
const (
	Bool        OID = 16
	Bytea       OID = 17
	Char        OID = 18 // "char", one byte
	NameType    OID = 19
	Int8        OID = 20
	Int2        OID = 21
	Int2Vector  OID = 22
	Int4        OID = 23
	Regproc     OID = 24
	Text        OID = 25
	OIDType     OID = 26
	Xid         OID = 28
	OIDVector   OID = 30
	JSON        OID = 114
	NodeTree    OID = 194
	Float4      OID = 700
	Float8      OID = 701
	Unknown     OID = 705
	Inet        OID = 869
	ACLItem     OID = 1033
	BPChar      OID = 1042
	Varchar     OID = 1043
	DateType    OID = 1082
	Time        OID = 1083
	TimestampT  OID = 1114
	Timestamptz OID = 1184
	IntervalT   OID = 1186
	NumericT    OID = 1700
	Regclass    OID = 2205
	Regtype     OID = 2206
	RecordT     OID = 2249
	Any         OID = 2276
	AnyArray    OID = 2277
	Void        OID = 2278
	UUID        OID = 2950
	JSONB       OID = 3802
	Regnamespac OID = 4089
	Regrole     OID = 4096
)

// arrays are the types of arrays, by those of their elements.
var arrays = map[OID]OID{
	Bool: 1000, Bytea: 1001, Char: 1002, NameType: 1003, Int8: 1016, Int2: 1005, Int2Vector: 1006, Int4: 1007, Regproc: 1008, Text: 1009,
	OIDType: 1028, Xid: 1011, OIDVector: 1013, JSON: 199, Float4: 1021, Float8: 1022, Inet: 1041, ACLItem: 1034, BPChar: 1014, Varchar: 1015,
	DateType: 1182, Time: 1183, TimestampT: 1115, Timestamptz: 1185, IntervalT: 1187, NumericT: 1231, Regclass: 2210, Regtype: 2211,
	RecordT: 2287, UUID: 2951, JSONB: 3807, Regnamespac: 4090, Regrole: 4097, 1560: 1561, 1266: 1270, 27: 1010, 29: 1012,
}

var elements = func() map[OID]OID {
	out := map[OID]OID{Int2Vector: Int2, OIDVector: OIDType, AnyArray: Any}
	for e, a := range arrays {
		out[a] = e
	}
	return out
}()

// ArrayOf returns the array type of t, or text[] if there is none.
func ArrayOf(t OID) OID {
	if a, ok := arrays[t]; ok {
		return a
	}
	if _, is := elements[t]; is {
		return t // arrays of several dimensions are of the type of those of one
	}
	return 1009
}

// ElementOf returns the element type of an array type; 0: t is not an array type.
func ElementOf(t OID) OID { return elements[t] }

// IsInteger, IsNumber, IsText, IsTime and IsReg classify types.
func (t OID) IsInteger() bool { return t == Int2 || t == Int4 || t == Int8 }

// IsNumber reports whether the type is numeric.
func (t OID) IsNumber() bool {
	return t.IsInteger() || t == Float4 || t == Float8 || t == NumericT || t.IsOID()
}

// IsText reports whether the type is a string type.
func (t OID) IsText() bool {
	return t == Text || t == Varchar || t == NameType || t == BPChar || t == Char || t == Unknown || t == NodeTree
}

// IsTime reports whether the type is a timestamp or date type.
func (t OID) IsTime() bool { return t == Timestamptz || t == TimestampT || t == DateType }

// IsOID reports whether values are OIDs, shown as numbers or names.
func (t OID) IsOID() bool {
	switch t {
	case OIDType, Regproc, Regclass, Regtype, Regnamespac, Regrole, Xid, 29, 2202, 2203, 2204, 3734, 3769, 4191:
		return true
	}
	return false
}

// Size returns typlen, as in row descriptions.
func (t OID) Size() int16 {
	switch t {
	case Bool, Char:
		return 1
	case Int2:
		return 2
	case Int4, Float4, DateType:
		return 4
	case Int8, Float8, TimestampT, Timestamptz, Time:
		return 8
	case NameType:
		return 64
	case IntervalT, UUID:
		return 16
	case Unknown:
		return -2
	case Void:
		return 4
	}
	if t.IsOID() {
		return 4
	}
	return -1
}

// names are the types as they are written in a statement, lower case.
var names = map[string]OID{
	"bool": Bool, "bytea": Bytea, "char": Char, "name": NameType, "int8": Int8, "int2": Int2, "int2vector": Int2Vector, "int4": Int4,
	"regproc": Regproc, "text": Text, "oid": OIDType, "xid": Xid, "oidvector": OIDVector, "json": JSON, "pg_node_tree": NodeTree,
	"float4": Float4, "float8": Float8, "unknown": Unknown, "inet": Inet, "aclitem": ACLItem, "bpchar": BPChar, "varchar": Varchar,
	"date": DateType, "time": Time, "timestamp": TimestampT, "timestamptz": Timestamptz, "interval": IntervalT, "numeric": NumericT,
	"regclass": Regclass, "regtype": Regtype, "record": RecordT, "any": Any, "anyarray": AnyArray, "void": Void, "uuid": UUID,
	"jsonb": JSONB, "regnamespace": Regnamespac, "regrole": Regrole, "regprocedure": 2202, "regoper": 2203, "regoperator": 2204,
	"regconfig": 3734, "regdictionary": 3769, "regcollation": 4191, "cid": 29, "tid": 27, "timetz": 1266, "bit": 1560, "varbit": 1562,
	"sql_identifier": NameType, "character_data": Varchar, "yes_or_no": Varchar, "cardinal_number": Int4, "time_stamp": Timestamptz,
	"money": 790, "xml": 142, "cstring": 2275, "xid8": 5069, "pg_lsn": 3220, "pg_ndistinct": 3361, "pg_dependencies": 3402,
	"pg_mcv_list": 5017, "anyelement": 2283, "point": 600,
}

// Named returns the type with a name; 0: it does not exist.
func Named(name string) OID {
	if len(name) > 1 && name[0] == '_' {
		if e := names[name[1:]]; e != 0 {
			return ArrayOf(e)
		}
	}
	return names[name]
}

// sqlNames are how types are shown (format_type), where that is not their name.
var sqlNames = map[OID]string{
	Bool: "boolean", Int8: "bigint", Int2: "smallint", Int4: "integer", Float4: "real", Float8: "double precision", BPChar: "character",
	Varchar: "character varying", Time: "time without time zone", TimestampT: "timestamp without time zone",
	Timestamptz: "timestamp with time zone", NumericT: "numeric", Char: `"char"`, 1266: "time with time zone", 1562: "bit varying",
	Any: `"any"`,
}

var internalNames = func() map[OID]string {
	out := map[OID]string{}
	for n, o := range names {
		switch n {
		case "sql_identifier", "character_data", "yes_or_no", "cardinal_number", "time_stamp":
		default:
			out[o] = n
		}
	}
	return out
}()

// Name returns the display name of a type, or "???" if it is unknown.
func (t OID) Name() string {
	if n := sqlNames[t]; n != "" {
		return n
	}
	if n := internalNames[t]; n != "" {
		return n
	}
	if e := elements[t]; e != 0 {
		return e.Name() + "[]"
	}
	return "???"
}

// Internal returns the name of a type in pg_type.
func (t OID) Internal() string {
	if n := internalNames[t]; n != "" {
		return n
	}
	if e := elements[t]; e != 0 {
		return "_" + e.Internal()
	}
	return "???"
}
