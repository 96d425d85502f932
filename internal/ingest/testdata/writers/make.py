"""Writes random nested rows as JSON lines, CSV, TSV, Avro and ORC, and what they are as JSON: make.py FOLDER SEED...

The files of a seed are in a folder of its name.
"""
import base64
import csv
import json
import os
import random
import sys

import duckdb
import fastavro
import pyarrow as pa
import pyarrow.orc as orc

r = random.Random()
ROWS = 200
TEXTS = ["", "a", "ä", "日本", "😀x", 'say "x"', "a,b", "a\tb", "line\nline", "cr\rlf\r\n", " blank ", "null", "1e5", "\\", "'", "{}", "[1]", "\x7f"]


def text():
    return "".join(r.choice(TEXTS) for _ in range(r.randrange(3)))


def name(i):
    return f"f{i}"


# A type is a schema of Avro and a function that makes a value: as fastavro takes it, and as JSON has it.
def scalar():
    return r.choice([
        ("long", lambda: twice(r.choice([0, 1, -1, 2**63 - 1, -(2**63), r.randrange(-10**6, 10**6)]))),
        ("int", lambda: twice(r.randrange(-(2**31), 2**31))),
        ("double", lambda: twice(r.choice([0.0, 1.5, -2.25, 1e300, 5e-324, r.random()]))),
        ("string", lambda: twice(text())),
        ("boolean", lambda: twice(r.random() < 0.5)),
        ({"type": "int", "logicalType": "date"}, lambda: twice(r.randrange(-50000, 50000))),
        ({"type": "long", "logicalType": "timestamp-millis"}, lambda: twice(r.randrange(-10**12, 10**13))),
        ({"type": "bytes"}, binary),
    ])


def twice(v):
    return v, v


def binary():
    b = bytes(r.randrange(256) for _ in range(r.randrange(6)))
    return b, base64.b64encode(b).decode()


made = 0


def kind(depth):
    global made
    choice = r.random()
    if depth == 0 or choice < 0.4:
        return scalar()
    inner = [kind(depth - 1) for _ in range(r.randrange(1, 4))]
    schema, value = inner[0]
    if choice < 0.55:
        def some():
            values = [value() for _ in range(r.randrange(4))]
            return [a for a, _ in values], [j for _, j in values]
        return {"type": "array", "items": schema}, some
    if choice < 0.65:
        def entries():
            values = {f"k{i}": value() for i in range(r.randrange(3))}
            return {k: a for k, (a, _) in values.items()}, {k: j for k, (_, j) in values.items()}
        return {"type": "map", "values": schema}, entries
    if choice < 0.8 and not isinstance(schema, list):
        return ["null", schema], lambda: (None, None) if r.random() < 0.3 else value()
    made += 1

    def members():
        values = {name(i): v() for i, (_, v) in enumerate(inner)}
        return {k: a for k, (a, _) in values.items()}, {k: j for k, (_, j) in values.items()}
    return {"type": "record", "name": f"r{made}", "fields": [{"name": name(i), "type": s} for i, (s, _) in enumerate(inner)]}, members


def arrow(s):
    """The type of Arrow for a schema of Avro; a map is one of texts."""
    if isinstance(s, list):
        return arrow(s[1])
    of = s["type"] if isinstance(s, dict) else s
    if of == "array":
        return pa.list_(arrow(s["items"]))
    if of == "map":
        return pa.map_(pa.string(), arrow(s["values"]))
    if of == "record":
        return pa.struct([(f["name"], arrow(f["type"])) for f in s["fields"]])
    return {"long": pa.int64(), "int": pa.int32(), "double": pa.float64(), "string": pa.string(), "boolean": pa.bool_(), "bytes": pa.binary()}[of]


def pairs(v, s):
    """A value as Arrow takes it: a map is a list of pairs."""
    if v is None or not isinstance(s, (list, dict)):
        return v
    if isinstance(s, list):
        return pairs(v, s[1])
    if s["type"] == "array":
        return [pairs(x, s["items"]) for x in v]
    if s["type"] == "map":
        return [(k, pairs(x, s["values"])) for k, x in v.items()]
    if s["type"] == "record":
        return {f["name"]: pairs(v[f["name"]], f["type"]) for f in s["fields"]}
    return v


def unwrapped(s):
    """The schema without logical types, so that fastavro writes numbers as they are."""
    if isinstance(s, list):
        return [unwrapped(x) for x in s]
    if isinstance(s, dict):
        return {k: unwrapped(x) for k, x in s.items() if k != "logicalType"}
    return s


def shown(v, s):
    """What pyarrow reads as JSON."""
    if isinstance(v, bytes):
        return base64.b64encode(v).decode()
    if v is None or not isinstance(s, (list, dict)):
        return v
    if isinstance(s, list):
        return shown(v, s[1])
    if s["type"] == "array":
        return [shown(x, s["items"]) for x in v]
    if s["type"] == "map":
        return {k: shown(x, s["values"]) for k, x in v}
    if s["type"] == "record":
        return {f["name"]: shown(v[f["name"]], f["type"]) for f in s["fields"]}
    return v


def write(folder, path, values):
    with open(folder + "/" + path, "w", encoding="utf-8") as f:
        for v in values:
            f.write(json.dumps(v) + "\n")


def make(folder):
    columns = [kind(3) for _ in range(6)]
    schema = {"type": "record", "name": "row", "fields": [{"name": name(i), "type": s} for i, (s, _) in enumerate(columns)]}
    rows = [{name(i): v() for i, (_, v) in enumerate(columns)} for _ in range(ROWS)]
    with open(folder + "/rows.avro", "wb") as f:
        fastavro.writer(f, unwrapped(schema), [{k: a for k, (a, _) in row.items()} for row in rows], codec=r.choice(["null", "deflate", "bzip2", "xz"]))
    table = pa.table({name(i): pa.array([pairs(row[name(i)][0], s) for row in rows], arrow(s)) for i, (s, _) in enumerate(columns)})
    orc.write_table(table, folder + "/rows.orc", compression=r.choice(["UNCOMPRESSED", "ZLIB", "SNAPPY", "LZ4", "ZSTD"]),
                    dictionary_key_size_threshold=r.choice([0.0, 1.0]))
    as_json = [{k: j for k, (_, j) in row.items()} for row in rows]
    with open(folder + "/rows.json", "w", encoding="utf-8") as f:
        for row in as_json:
            f.write(json.dumps(row, ensure_ascii=r.random() < 0.5) + "\n")

    # Flat texts. CSV quotes as RFC 4180 does; TSV has no quotes, so that its texts have neither tabs nor ends of lines.
    cells = [[text() for _ in range(4)] for _ in range(ROWS)]
    for row in cells:
        row[0] = row[0] or "x"  # no line is empty
    with open(folder + "/rows.csv", "w", newline="", encoding="utf-8") as f:
        w = csv.writer(f, lineterminator=r.choice(["\n", "\r\n"]), quoting=r.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
        w.writerow([name(i) for i in range(4)])
        w.writerows(cells)
    plain = [[c.replace("\t", " ").replace("\n", " ").replace("\r", " ") for c in row] for row in cells]
    with open(folder + "/rows.tsv", "w", newline="", encoding="utf-8") as f:
        f.write("\t".join(name(i) for i in range(4)) + "\n")
        for row in plain:
            f.write("\t".join(row) + "\n")
    write(folder, "nested.want", as_json)
    # What pyarrow reads of its ORC file: its writer loses some texts of structs below nulls.
    back = orc.read_table(folder + "/rows.orc").to_pylist()
    write(folder, "orc.want", [{name(i): shown(row[name(i)], s) for i, (s, _) in enumerate(columns)} for row in back])
    # What DuckDB reads of the CSV; an empty field is null here.
    read = duckdb.sql(f"SELECT * FROM read_csv('{folder}/rows.csv', header=true, all_varchar=true, delim=',', quote='\"', escape='\"', "
                      "parallel=false, auto_detect=false, columns={'f0':'VARCHAR','f1':'VARCHAR','f2':'VARCHAR','f3':'VARCHAR'})").fetchall()
    if [[c or "" for c in row] for row in read] != cells:
        sys.exit("DuckDB reads other cells than were written")
    write(folder, "csv.want", [{name(i): c or None for i, c in enumerate(row)} for row in cells])
    write(folder, "tsv.want", [{name(i): c or None for i, c in enumerate(row)} for row in plain])


for seed in sys.argv[2:]:
    r.seed(int(seed))
    made = 0
    os.mkdir(os.path.join(sys.argv[1], seed))
    make(os.path.join(sys.argv[1], seed))
