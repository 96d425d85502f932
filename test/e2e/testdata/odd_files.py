"""Writes the files of TestIngestFilesOfWriters into the folder that the argument names."""
import datetime as dt
import decimal
import os
import sys

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.orc as orc
import pyarrow.parquet as pq

os.chdir(sys.argv[1])
when = dt.datetime(2024, 1, 1, 12, 30, 15, 123456)
days = pa.array([dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2)], pa.timestamp("ms"))


def table(**columns):
    return pa.table({"ts": days, **columns})


# As pandas writes it: an index, categories, text for objects, nanoseconds.
pandas = pa.table({
    "ts": pa.array([1704067200000000000, 1704153600000000000], pa.timestamp("ns", tz="UTC")),
    "price": pa.array([1.5, float("nan")]),
    "kind": pa.array(["a", "b"]).dictionary_encode(),
    "flag": pa.array([True, None]),
    "__index_level_0__": pa.array([0, 1], pa.int64()),
})
pq.write_table(pandas, "pandas.parquet")

# As Spark writes it: a folder, INT96, snappy, a marker and checksums.
os.mkdir("spark")
open("spark/_SUCCESS", "w").close()
open("spark/.part-0.snappy.parquet.crc", "wb").write(b"crc\0\0\0\1")
for i in range(2):
    part = pa.table({
        "ts": pa.array([when + dt.timedelta(days=i)], pa.timestamp("us")),
        "n": pa.array([i], pa.int32()),
        "amount": pa.array([decimal.Decimal("1.50")], pa.decimal128(10, 2)),
        "tags": pa.array([["x", "y"]], pa.list_(pa.string())),
        "inner": pa.array([{"a": 1, "b": [{"c": "z"}]}]),
    })
    pq.write_table(part, f"spark/part-{i}.snappy.parquet", use_deprecated_int96_timestamps=True, compression="snappy")

pq.write_table(table(u=pa.array([2**64 - 1, 1], pa.uint64())), "unsigned.parquet")
pq.write_table(table(d=pa.array([decimal.Decimal("12345678901234567890.12"), None], pa.decimal128(38, 2))), "decimal.parquet")
pq.write_table(table(f=pa.array([float("inf"), float("nan")], pa.float64()), h=pa.array([1.5, -2], pa.float16())), "floats.parquet")
pq.write_table(table(day=pa.array([dt.date(2024, 2, 29), dt.date(1900, 1, 1)])), "dates.parquet")
pq.write_table(table(m=pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64()))), "map.parquet")
pq.write_table(table(b=pa.array([b"\x00\xff", b"ab"])), "bytes.parquet")
pq.write_table(table(e=pa.array([None, None], pa.null())), "nulls.parquet")
pq.write_table(table(v=[1, 2]), "brotli.parquet", compression="brotli")
pq.write_table(table(v=[1, 2]), "v2.parquet", data_page_version="2.0", compression="zstd", use_dictionary=False)
pq.write_table(table(v=[1, 2]).slice(0, 0), "empty.parquet")
pq.write_table(pa.table({"ts": pa.array([when, None], pa.timestamp("ms")), "v": [1, 2]}), "untimed.parquet")
for month in (1, 2):
    os.makedirs(f"hive/year=2024/month={month}")
    pq.write_table(pa.table({"ts": [f"2024-0{month}-01"], "v": [month / 2]}), f"hive/year=2024/month={month}/p.parquet")

orc.write_table(table(n=pa.array([2**63 - 1, None]), s=["ä", "b"], l=[[1], []]), "plain.orc")
orc.write_table(table(d=pa.array([decimal.Decimal("1.50"), None], pa.decimal128(9, 2))), "decimal.orc")
orc.write_table(table(d=pa.array([decimal.Decimal("12345678901234567890.12"), None], pa.decimal128(38, 2))), "fine.orc")

stream = table(v=pa.array([2**63 - 1, None]), s=["ä", "b"])
with pa.OSFile("stream.arrows", "wb") as f, pa.ipc.new_stream(f, stream.schema) as w:
    w.write_table(stream)
stream = table(u=pa.array([2**64 - 1, 1], pa.uint64()))
with pa.OSFile("unsigned.arrows", "wb") as f, pa.ipc.new_stream(f, stream.schema) as w:
    w.write_table(stream)
feather.write_feather(table(v=[1, 2]), "file.feather")
