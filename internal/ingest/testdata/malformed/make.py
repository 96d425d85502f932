"""Writes malformed.orc beside itself: texts, lists and structs of texts that are no UTF-8, stored plainly and in dictionaries."""
import os
import pyarrow as pa
import pyarrow.orc as orc

rows = [b"ok", b"x\xffy\xe2\x82z", b"\xfe", None] * 3


def texts(values):
    return pa.array(values, pa.binary()).view(pa.string())


table = pa.table({
    "s": texts(rows),
    "l": pa.ListArray.from_arrays(pa.array(range(len(rows) + 1), pa.int32()), texts(rows)),
    "o": pa.StructArray.from_arrays([texts(rows)], names=["p"]),
})
path = os.path.dirname(os.path.abspath(__file__))
orc.write_table(table, path + "/plain.orc", dictionary_key_size_threshold=0.0)
orc.write_table(table, path + "/dictionary.orc", dictionary_key_size_threshold=1.0)
