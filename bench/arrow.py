"""Reads an answer in several ways: arrow.py URL ROWS SQL TIMES. Prints a JSON object per run."""
import json
import sys
import time
import urllib.request

import pyarrow as pa

url, rows, sql, times = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])


def post(form, sql=sql):
    body = json.dumps({"query": sql, "resultFormat": form, "context": {"useCache": False, "useResultLevelCache": False}}).encode()
    return urllib.request.urlopen(urllib.request.Request(url + "/service/v2/sql", body, {"Content-Type": "application/json"}))


def arrow():
    return pa.ipc.open_stream(post("arrow")).read_all().num_rows


def arrays():  # fewer rows: as objects of Python they would take gigabytes
    a, b = zip(*json.loads(post("array", f"{sql} LIMIT {rows // 10}").read()))
    return pa.table({"a": pa.array(a, pa.int64()), "b": pa.array(b, pa.int64())}).num_rows


def unread():
    answer = post("array")
    while answer.read(1 << 20):
        pass
    return rows


def flight():
    try:
        import adbc_driver_flightsql.dbapi as flightsql
    except ImportError:
        return None
    with flightsql.connect(url.replace("http://", "grpc://")) as conn, conn.cursor() as cur:
        cur.execute(sql)
        return cur.fetch_arrow_table().num_rows


for name, f in {"arrow": arrow, "flight": flight, "arrays": arrays, "unread": unread}.items():
    for _ in range(times):
        cpu, began = time.process_time(), time.monotonic()
        got = f()
        if got is None:
            break
        assert got == (rows // 10 if f is arrays else rows), f"{name} gave {got} rows"
        print(json.dumps({"name": name, "rows": got, "seconds": time.monotonic() - began, "cpu": time.process_time() - cpu}), flush=True)
