"""Times rows over the PostgreSQL wire with psycopg: prints what bench/wire.go reads, as JSON."""
import json
import sys
import time

import psycopg

port, table, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
sql = f"select i, n from {table}"
out = {"version": psycopg.__version__, "implementation": psycopg.pq.__impl__, "received": [], "fetched": [], "first": []}
with psycopg.connect(f"host=127.0.0.1 port={port} user=bench dbname=henge", autocommit=True) as c:
    for _ in range(5):
        began = time.perf_counter()
        cursor = c.cursor(binary=True)
        cursor.execute(sql)
        out["received"].append(rows / (time.perf_counter() - began))
        assert len(cursor.fetchall()) == rows
        out["fetched"].append(rows / (time.perf_counter() - began))
    for _ in range(30):
        began = time.perf_counter()
        for _ in c.cursor(binary=True).stream(sql):
            out["first"].append(1000 * (time.perf_counter() - began))
            break
print(json.dumps(out))
