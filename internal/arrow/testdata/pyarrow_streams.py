"""Reads a stream and prints its rows as JSON (read), or writes streams of many types (write DIR SEED)."""
import datetime
import decimal
import json
import random
import sys

import pyarrow as pa
import pyarrow.ipc as ipc


def shown(v):
    if isinstance(v, bytes):
        return "0x" + v.hex()
    if isinstance(v, datetime.datetime):
        if v.tzinfo is None:
            v = v.replace(tzinfo=datetime.timezone.utc)
        return (v - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)) // datetime.timedelta(milliseconds=1)
    if isinstance(v, datetime.date):
        return (v - datetime.date(1970, 1, 1)).days * 86400000
    if isinstance(v, datetime.time):
        return ((v.hour * 60 + v.minute) * 60 + v.second) * 1000 + v.microsecond // 1000
    if isinstance(v, datetime.timedelta):
        return v // datetime.timedelta(milliseconds=1)
    if isinstance(v, decimal.Decimal):
        return "d" + format(v, "f")
    if isinstance(v, int) and not isinstance(v, bool) and v >= 1 << 63:
        return "d" + str(v)
    if isinstance(v, float):
        return "f" + v.hex() if v == v else "nan"
    if isinstance(v, list):
        if v and isinstance(v[0], tuple):
            return {str(k): shown(x) for k, x in v}
        return [shown(x) for x in v]
    if isinstance(v, dict):
        return {k: shown(x) for k, x in v.items()}
    return v


def read():
    reader = ipc.open_stream(sys.stdin.buffer)
    print(json.dumps([[f.name, str(f.type)] for f in reader.schema]))
    for batch in reader:
        batch.validate(full=True)
        for row in zip(*[c.to_pylist() for c in batch.columns]):
            print(json.dumps([shown(v) for v in row]))


MAPS = pa.map_(pa.string(), pa.int32())
TYPES = {
    "int8": (pa.int8(), lambda r: r.randrange(-128, 128)), "int16": (pa.int16(), lambda r: r.randrange(-2**15, 2**15)),
    "int32": (pa.int32(), lambda r: r.randrange(-2**31, 2**31)), "int64": (pa.int64(), lambda r: r.randrange(-2**63, 2**63)),
    "uint8": (pa.uint8(), lambda r: r.randrange(256)), "uint16": (pa.uint16(), lambda r: r.randrange(2**16)),
    "uint32": (pa.uint32(), lambda r: r.randrange(2**32)), "uint64": (pa.uint64(), lambda r: r.randrange(2**64)),
    "half": (pa.float16(), lambda r: r.choice([0.0, -1.5, 65504.0, 2.0**-24, float("inf"), 0.333251953125])),
    "float": (pa.float32(), lambda r: r.randrange(1000) / 8), "double": (pa.float64(), lambda r: r.random()),
    "bool": (pa.bool_(), lambda r: r.random() < 0.5), "null": (pa.null(), lambda r: None),
    "text": (pa.string(), lambda r: "é" * r.randrange(20)), "large": (pa.large_string(), lambda r: "l" * r.randrange(20)),
    "view": (pa.string_view(), lambda r: "v" * r.randrange(30)), "bview": (pa.binary_view(), lambda r: b"\x01" * r.randrange(30)),
    "binary": (pa.binary(), lambda r: r.randbytes(r.randrange(9))), "fixed": (pa.binary(3), lambda r: r.randbytes(3)),
    "d32": (pa.decimal32(7, 2), lambda r: decimal.Decimal(r.randrange(-10**7 + 1, 10**7)).scaleb(-2)),
    "d64": (pa.decimal64(15, 3), lambda r: decimal.Decimal(r.randrange(-10**15 + 1, 10**15)).scaleb(-3)),
    "d128": (pa.decimal128(30, 10), lambda r: decimal.Decimal(r.randrange(-10**9, 10**9)).scaleb(-10)),
    "d256": (pa.decimal256(60, 20), lambda r: decimal.Decimal(r.randrange(-10**9, 10**9)).scaleb(-20)),
    "date32": (pa.date32(), lambda r: datetime.date.fromordinal(r.randrange(1, 3000000))),
    "date64": (pa.date64(), lambda r: datetime.date.fromordinal(r.randrange(1, 3000000))),
    "t32": (pa.time32("ms"), lambda r: datetime.time(r.randrange(24), 1, 2, 3000)),
    "t64": (pa.time64("us"), lambda r: datetime.time(r.randrange(24), 1, 2, 3004)),
    "secs": (pa.timestamp("s"), lambda r: datetime.datetime(r.randrange(1900, 2100), 1, 2, 3, 4, 5)),
    "millis": (pa.timestamp("ms", "Europe/Berlin"), lambda r: datetime.datetime(2020, 1, r.randrange(1, 29), tzinfo=datetime.timezone.utc)),
    "micros": (pa.timestamp("us"), lambda r: datetime.datetime(r.randrange(1900, 2100), 1, 2, 3, 4, 5, 6789)),
    "took": (pa.duration("us"), lambda r: datetime.timedelta(microseconds=r.randrange(-10**9, 10**9))),
    "list": (pa.list_(pa.int32()), lambda r: [r.randrange(9) for _ in range(r.randrange(4))]),
    "wide": (pa.large_list(pa.string()), lambda r: ["x"] * r.randrange(4)),
    "pair": (pa.list_(pa.int16(), 2), lambda r: [r.randrange(9), None]),
    "struct": (pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))]), lambda r: {"a": r.randrange(9), "b": ["s"] * r.randrange(3)}),
    "map": (MAPS, lambda r: [("k%d" % i, i) for i in range(r.randrange(1, 4))]),
    "dict": (pa.dictionary(pa.int8(), pa.string()), lambda r: "w%d" % r.randrange(9)),
    "ldict": (pa.list_(pa.dictionary(pa.int32(), pa.string())), lambda r: ["w%d" % r.randrange(9)] * r.randrange(3)),
}


def write(directory, seed):
    r = random.Random(seed)
    schema = pa.schema([(name, t) for name, (t, _) in TYPES.items()])
    for variant in ["plain", "lz4", "zstd", "delta", "v4"]:
        version = ipc.MetadataVersion.V4 if variant == "v4" else ipc.MetadataVersion.V5
        options = ipc.IpcWriteOptions(
            compression=variant if variant in ("lz4", "zstd") else None, emit_dictionary_deltas=variant == "delta", metadata_version=version)
        rows = []
        with ipc.new_stream(f"{directory}/{variant}.arrows", schema, options=options) as out:
            words = []
            for n in [0, 1, 50, 7]:
                columns = []
                words += ["w%d" % i for i in range(len(words), len(words) + 5)]
                for name, (t, make) in TYPES.items():
                    values = [None if r.random() < 0.2 else make(r) for _ in range(n)]
                    if name == "dict":
                        codes = [None if v is None else r.randrange(len(words)) for v in values]
                        columns.append(pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(words)))
                    elif name == "ldict":
                        codes = pa.array([i % len(words) for i in range(2 * n)], pa.int32())
                        ends = pa.array([2 * i for i in range(n + 1)], pa.int32())
                        columns.append(pa.ListArray.from_arrays(ends, pa.DictionaryArray.from_arrays(codes, pa.array(words))))
                    else:
                        columns.append(pa.array(values, t))
                batch = pa.record_batch(columns, schema=schema)
                cut = batch.slice(1) if n > 7 else batch
                out.write_batch(cut)
                rows += zip(*[c.to_pylist() for c in cut.columns])
        with open(f"{directory}/{variant}.json", "w") as out:
            for row in rows:
                out.write(json.dumps([shown(v) for v in row]) + "\n")


if sys.argv[1] == "read":
    read()
else:
    write(sys.argv[2], int(sys.argv[3]))
