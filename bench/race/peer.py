"""One peer of the comparison: an engine inside this process, asked by lines of JSON on standard input.

usage: peer.py duckdb|chdb DIR THREADS MEMORY, memory as 1GiB or empty: no limit

Each request is one line, each answer one line. "ms" is the time from handing the statement to the engine until all rows are in this
process; writing them as JSON for the answer is not part of it.

    {"op": "hello"}                                      -> {"version": ..}
    {"op": "run", "sql": [..]}                           -> {"ms": .., "rows": [[..]]}     rows of the last statement
    {"op": "clients", "n": 4, "seconds": 3, "sql": [..], "heavy": ".."} -> {"ms": [..], "errors": 0}   time of every query, statements in turn
    {"op": "permute", "sql": [..], "any_rows": [..], "orders": [[..]], "seconds": 60} -> {"ms": [..], "errors": 0, "wrong": 0, "first": ".."}
        each order is a thread's: numbers of statements. All are asked alone before, and answers held against those
    {"op": "size", "table": name}                                      -> {"bytes": ..}                  of the table on disk
An error is {"error": text}.
"""
import datetime
import decimal
import itertools
import json
import os
import sys
import threading
import time


class DuckDB:
    def __init__(self, directory, threads, memory):
        import duckdb
        self.version = duckdb.__version__
        self.path = os.path.join(directory, "duck.db")
        self.conn = duckdb.connect(":memory:", config={"threads": threads})
        if memory:
            self.conn.execute(f"SET memory_limit='{memory}'")
            self.conn.execute(f"SET temp_directory='{directory}/spill'")
        # The newest storage version has the best encodings; the default keeps old readers able to read.
        self.conn.execute(f"ATTACH '{self.path}' AS race (STORAGE_VERSION 'latest')")
        self.conn.execute("USE race")

    def session(self):
        cursor = self.conn.cursor()
        cursor.execute("USE race")
        return lambda sql: cursor.execute(sql).fetchall()

    def size(self, table):
        # Blocks of the file that belong to the table's columns; the rest of the file is other tables and free blocks.
        self.conn.execute("CHECKPOINT race")
        blocks = self.conn.execute(f"SELECT count(DISTINCT block_id) FROM (SELECT unnest([block_id] || additional_block_ids) AS block_id "
                                   f"FROM pragma_storage_info('{table}')) WHERE block_id >= 0").fetchall()[0][0]
        return blocks * self.conn.execute("SELECT block_size FROM pragma_database_size() WHERE database_name='race'").fetchall()[0][0]


class ClickHouse:
    def __init__(self, directory, threads, memory):
        import chdb
        from chdb import session
        self.session_ = session.Session(os.path.join(directory, "chdb"))
        self.lock = threading.Lock()  # one statement at a time: the library has one connection in a process
        self.version = chdb.__version__ + " (ClickHouse " + self.rows("SELECT version()")[0][0] + ")"
        self.rows(f"SET max_threads={threads}, max_insert_threads={threads}")
        if memory:
            limit = int(memory.removesuffix("GiB")) << 30
            # Beyond half of its memory it sorts and groups on disk.
            self.rows(f"SET max_memory_usage={limit}, max_bytes_before_external_group_by={limit // 2}, max_bytes_before_external_sort={limit // 2}")
        self.rows("SET output_format_json_quote_64bit_integers=0")
        self.rows("CREATE DATABASE IF NOT EXISTS race")
        self.rows("USE race")

    def rows(self, sql):
        with self.lock:
            text = self.session_.query(sql, "JSONCompactEachRow").bytes()
        return [json.loads(line) for line in text.splitlines()]

    def session(self):
        return self.rows

    def size(self, table):
        return int(self.rows(f"SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database='race' AND table='{table}'")[0][0])


def clients(engine, n, seconds, statements, heavy):
    times, errors = [[] for _ in range(n)], [0] * (n + 1)
    end = time.perf_counter() + seconds

    def work(k):
        ask = engine.session()
        i = k
        while True:
            began = time.perf_counter()
            if began >= end:
                return
            try:
                ask(statements[i % len(statements)])
            except Exception:
                errors[k] += 1
            times[k].append((time.perf_counter() - began) * 1000)
            i += n

    def burden():
        ask = engine.session()
        while time.perf_counter() < end:
            try:
                ask(heavy)
            except Exception:
                errors[n] += 1
                return

    threads = [threading.Thread(target=work, args=(k,)) for k in range(n)]
    if heavy:
        threads.append(threading.Thread(target=burden))
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return {"ms": sum(times, []), "errors": sum(errors)}


def near(a, b):
    """Whether two cells agree: sums of doubles depend on the order of adding."""
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-9 * max(abs(a), abs(b))
    return a == b


def same(rows, truth):
    if rows == truth:
        return True
    if len(rows) != len(truth):
        return False

    def key(row):
        return [f"{v:.5e}" if isinstance(v, float) else repr(v) for v in row]
    return all(len(a) == len(b) and all(map(near, a, b)) for a, b in zip(sorted(rows, key=key), sorted(truth, key=key)))


truths = {}  # by statement, from before anybody else asked


def permute(engine, ask, statements, any_rows, orders, seconds):
    for sql in statements:
        if sql not in truths:
            truths[sql] = ask(sql)
    truth = [truths[sql] for sql in statements]
    times, errors, wrong, first = [], [], [], []  # appending is atomic
    end = time.perf_counter() + seconds

    def work(order):
        mine = engine.session()
        for k in itertools.cycle(order):
            began = time.perf_counter()
            if began >= end:
                return
            try:
                rows = mine(statements[k])
            except Exception as e:
                errors.append(k)
                first.append(f"{statements[k][:80]}: {e}")
                continue
            took = time.perf_counter() - began
            if len(rows) != len(truth[k]) if any_rows[k] else not same(rows, truth[k]):
                wrong.append(k)
                first.append(f"{statements[k][:80]}: {str(rows[:1])[:200]}, not {str(truth[k][:1])[:200]}")
            elif began + took < end:
                times.append(took * 1000)

    threads = [threading.Thread(target=work, args=(order,)) for order in orders]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return {"ms": times, "errors": len(errors), "wrong": len(wrong), "first": first[0] if first else ""}


def plain(value):
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()
    return value


def answer(engine, ask, request):
    match request["op"]:
        case "hello":
            return {"version": engine.version}
        case "size":
            return {"bytes": engine.size(request["table"])}
        case "clients":
            return clients(engine, request["n"], request["seconds"], request["sql"], request["heavy"])
        case "permute":
            return permute(engine, ask, request["sql"], request["any_rows"], request["orders"], request["seconds"])
        case "run":
            began = time.perf_counter()
            rows = []
            for sql in request["sql"]:
                rows = ask(sql)
            ms = (time.perf_counter() - began) * 1000
            return {"ms": ms, "rows": [[plain(v) for v in row] for row in rows]}
    raise ValueError("unknown operation " + request["op"])


def main():
    kind, directory, threads, memory = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not mix with answers
    engine = {"duckdb": DuckDB, "chdb": ClickHouse}[kind](directory, threads, memory)
    ask = engine.session()
    for line in sys.stdin:
        try:
            result = answer(engine, ask, json.loads(line))
        except Exception as e:  # the other side reports it with the name of the query
            result = {"error": f"{type(e).__name__}: {e}"}
        out.write(json.dumps(result) + "\n")
        out.flush()


main()
