"""Runs ADBC, polars and pyarrow against a server: clients.py HOST:PORT USER PASSWORD."""
import base64
import datetime
import json
import sys
import threading
import time
import urllib.request
import warnings

import adbc_driver_flightsql.dbapi as flightsql
import polars
import pyarrow as pa
import pyarrow.flight as flight

warnings.simplefilter("ignore")
address, user, password = sys.argv[1:4]
uri = "grpc://" + address


def connect(**options):
    return flightsql.connect(uri, db_kwargs={"username": user, "password": password, **options})


def same(got, want):
    assert got == want, f"got {got!r}, want {want!r}"


def fails(f, *parts):
    try:
        f()
    except Exception as e:
        for part in parts:
            assert part.lower() in str(e).lower(), f"{part!r} is not in {e!r}"
        return
    raise AssertionError(f"no failure with {parts}")


def credentials_of():
    return base64.b64encode(f"{user}:{password}".encode()).decode()


UTC = datetime.timezone.utc


def queries(conn):
    with conn.cursor() as cur:
        cur.execute("SELECT page, SUM(added) AS added, MAX(__time) AS latest FROM wiki GROUP BY page ORDER BY page")
        table = cur.fetch_arrow_table()
        same([str(f.type) for f in table.schema], ["string", "int64", "timestamp[ms, tz=UTC]"])
        same(table.to_pylist(), [
            {"page": "Help", "added": 20, "latest": datetime.datetime(2024, 1, 1, 1, tzinfo=UTC)},
            {"page": "Main", "added": 40, "latest": datetime.datetime(2024, 1, 2, tzinfo=UTC)}])
        cur.execute("SELECT page FROM wiki WHERE added > ? AND page <> ? AND __time >= ?", (5, "Help", datetime.datetime(2024, 1, 2)))
        same(cur.fetchall(), [("Main",)])
        cur.execute("SELECT CAST(? AS DOUBLE), ? || 'x', CAST(? AS BOOLEAN), CAST(? AS DATE)", (1.5, "y", True, datetime.date(2024, 5, 6)))
        same(cur.fetchall(), [(1.5, "yx", True, datetime.date(2024, 5, 6))])
        cur.execute("SELECT ARRAY[1, NULL] AS a, TO_JSON_STRING(JSON_OBJECT('k' : 1)) AS j, CAST(NULL AS BIGINT) AS n FROM (VALUES (1)) AS t(x)")
        same(cur.fetchall(), [([1, None], '{"k":1}', None)])
        cur.execute("SELECT x FROM (VALUES (1)) AS t(x) WHERE x > 1")
        same(cur.fetchall(), [])
        cur.execute("EXPLAIN PLAN FOR SELECT 1")
        assert len(cur.fetchall()) == 1
        fails(lambda: cur.execute("SELECT nothing FROM wiki"), "nothing", "line [1], column [8]")
        fails(lambda: cur.execute("SELECT"), "INVALID_ARGUMENT")
        fails(lambda: cur.execute("INSERT INTO x SELECT * FROM wiki PARTITIONED BY DAY"), "INSERT")
        fails(lambda: cur.executemany("SELECT ?", [(1,), (2,)]), "")
        schema = cur.adbc_execute_schema("SELECT added, tags FROM wiki")
        same([str(f.type) for f in schema], ["int64", "list<item: string>"])


def large(conn):
    sql = "SELECT a.n * 1000 + b.n AS n, 'v' || CAST(b.n AS VARCHAR) AS s FROM numbers a CROSS JOIN numbers b"
    with conn.cursor() as cur:
        cur.execute(sql)
        seen, total = 0, 0
        for batch in cur.fetch_record_batch():
            seen += batch.num_rows
            total += pa.compute.sum(batch.column(0)).as_py()
        same((seen, total), (1_000_000, 499_999_500_000))
        # A client that stops in the middle ends the query, and the connection goes on.
        cur.execute(sql)
        next(iter(cur.fetch_record_batch()))
        cur.close()
    with conn.cursor() as cur:
        cur.execute("SELECT 1")
        same(cur.fetchone(), (1,))


def metadata(conn):
    info = conn.adbc_get_info()
    same(info["vendor_name"], "Henge")
    assert "TABLE" in conn.adbc_get_table_types()
    objects = conn.adbc_get_objects(depth="columns", table_name_filter="wiki").read_all().to_pylist()
    tables = [t for c in objects for s in c["catalog_db_schemas"] for t in s["db_schema_tables"]]
    same([t["table_name"] for t in tables], ["wiki"])
    assert "added" in [c["column_name"] for c in tables[0]["table_columns"]]
    schema = conn.adbc_get_table_schema("wiki")
    same(str(schema.field("__time").type), "timestamp[ms, tz=UTC]")


def ingest(conn):
    at = datetime.datetime(2024, 3, 1, tzinfo=UTC)
    rows = pa.table({"at": pa.array([at] * 3, pa.timestamp("ms", "UTC")), "name": pa.array(["a", "b", None]).dictionary_encode(), "n": [1, 2, 3]})
    with conn.cursor() as cur:
        same(cur.adbc_ingest("taken", rows, mode="create"), 3)
        same(cur.adbc_ingest("taken", rows.slice(0, 1), mode="create_append"), 1)
        cur.execute("SELECT name, SUM(n) AS n FROM taken GROUP BY 1 ORDER BY 2")
        same(cur.fetchall(), [("a", 2), ("b", 2), (None, 3)])
        fails(lambda: cur.adbc_ingest("taken", rows, mode="create"), "exists")
        fails(lambda: cur.adbc_ingest("missing", rows, mode="append"), "does not exist")
        fails(lambda: cur.adbc_ingest("taken", rows, mode="replace"), "not replaced")


def cancel():
    with connect() as conn, conn.cursor() as cur:
        cur.execute("SELECT COUNT(*) FROM numbers a, numbers b, numbers c, numbers d WHERE a.n + b.n + c.n + d.n = 1")
        timer = threading.Timer(0.3, cur.adbc_cancel)
        timer.start()
        began = time.monotonic()
        fails(cur.fetchall, "")
        assert time.monotonic() - began < 10
        timer.join()


def credentials():
    for options in [{"username": user, "password": "wrong"}, {"username": "nobody", "password": password}]:
        fails(lambda: connect(**options).cursor().execute("SELECT 1"), "Unauthenticated")
    basic = "Basic " + credentials_of()
    with flightsql.connect(uri, db_kwargs={"adbc.flight.sql.authorization_header": basic}) as conn, conn.cursor() as cur:
        cur.execute("SELECT 2")
        same(cur.fetchone(), (2,))
    client = flight.FlightClient("grpc+tcp://" + address)
    header, token = client.authenticate_basic_token(user, password)
    assert token.startswith(b"Bearer "), token
    same(len(list(client.list_actions(flight.FlightCallOptions(headers=[(header, token)])))), 5)
    for wrong in [b"Bearer hgf1.AAAA", token[:-2] + b"xx", b""]:
        fails(lambda: list(client.list_actions(flight.FlightCallOptions(headers=[(header, wrong)]))), "Unauthenticated")
    options = flight.FlightCallOptions(headers=[(header, token)])
    fails(lambda: client.do_get(flight.Ticket(b"forged"), options).read_all(), "ticket")
    fails(lambda: client.get_flight_info(flight.FlightDescriptor.for_path("a"), options), "no paths")
    fails(lambda: client.get_flight_info(flight.FlightDescriptor.for_command(b"\x00"), options), "")
    fails(lambda: list(client.do_action(flight.Action("Nothing", b""), options)), "not supported")


def result_format():
    def post(sql, **more):
        request = urllib.request.Request(
            f"http://{address}/service/v2/sql", json.dumps({"query": sql, "resultFormat": "arrow", **more}).encode(),
            {"Content-Type": "application/json", "Authorization": "Basic " + credentials_of()})
        return urllib.request.urlopen(request)

    sql = "SELECT __time, page, added, delta, tags FROM wiki ORDER BY __time"
    table = pa.ipc.open_stream(post(sql)).read_all()
    same([str(f.type) for f in table.schema], [
        "timestamp[ms, tz=UTC]", "dictionary<values=string, indices=int32, ordered=0>", "int64", "double", "list<item: string>"])
    same(table.column("page").to_pylist(), ["Main", "Help", "Main"])
    same(table.column("tags").to_pylist()[0], ["a", "b"])
    frame = polars.read_ipc_stream(post(sql).read())
    same(frame["page"].cast(polars.String).to_list(), ["Main", "Help", "Main"])
    same(frame["delta"].to_list(), [1.5, 2.5, 3.5])
    many = polars.read_ipc_stream(post("SELECT 'v' || CAST(b.n AS VARCHAR) AS s FROM numbers a CROSS JOIN numbers b WHERE a.n < 100").read())
    same((many.height, many["s"].cast(polars.String).n_unique()), (100_000, 1000))


def frames(conn):
    frame = polars.read_database("SELECT page, added FROM wiki ORDER BY added", conn)
    same(frame.rows(), [("Main", 10), ("Help", 20), ("Main", 30)])


def step(f, *args):
    began = time.monotonic()
    f(*args)
    print(f"{f.__name__} took {time.monotonic() - began:.2f} s", file=sys.stderr)


with connect() as conn:
    for f in [queries, large, metadata, ingest, frames]:
        step(f, conn)
for f in [cancel, credentials, result_format]:
    step(f)
print("all steps are right")
