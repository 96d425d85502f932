"""pydruid, unmodified: DB-API, SQLAlchemy and native queries."""
import sys
from urllib.parse import urlparse

import sqlalchemy as sa
from pydruid import db
from pydruid.client import PyDruid
from pydruid.utils.aggregators import count, doublesum, filtered, longsum
from pydruid.utils.dimensions import DimensionSpec, TimeFormatExtraction
from pydruid.utils.filters import Dimension, Filter
from pydruid.utils.having import Aggregation
from pydruid.utils.postaggregator import Const, Field, HyperUniqueCardinality

from report import Report

url = urlparse(sys.argv[1])
r = Report()

# DB-API.
conn = db.connect(host=url.hostname, port=url.port, path="/druid/v2/sql/", scheme="http")


def rows(sql, *params):
    cursor = conn.cursor()
    cursor.execute(sql, *params)
    return [tuple(row) for row in cursor]


r.step("dbapi: rows", lambda: rows("SELECT channel, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1"), [("#de", 16), ("#en", 16), ("#fr", 16)])
r.step("dbapi: parameters", lambda: rows("SELECT COUNT(*) FROM visits WHERE channel = %(c)s AND added > %(n)s", {"c": "#en", "n": 10}), [(12,)])
r.step("dbapi: quotes in a parameter", lambda: rows("SELECT %(t)s AS t", {"t": "it's 100% \"so\""}), [("it's 100% \"so\"",)])


def described():
    cursor = conn.cursor()
    cursor.execute("SELECT channel, added, delta FROM visits LIMIT 1")
    return [(d[0], d[1]) for d in cursor.description]


r.step("dbapi: description", described, [("channel", 1), ("added", 2), ("delta", 2)])


def fetched():
    cursor = conn.cursor()
    cursor.execute("SELECT added FROM visits ORDER BY added")
    return cursor.fetchone()[0], [x[0] for x in cursor.fetchmany(2)], len(cursor.fetchall())


r.step("dbapi: fetch", fetched, (0, [1, 2], 45))
r.step("dbapi: no rows", lambda: rows("SELECT channel FROM visits WHERE added < 0"), [])
r.step("dbapi: header", lambda: [row._fields for row in db.connect(host=url.hostname, port=url.port, path="/druid/v2/sql/", header=True)
                                 .cursor().execute("SELECT 1 AS x, 'a' AS y")], [("x", "y")])
r.refused("dbapi: error", lambda: rows("SELECT nope FROM visits"), db.exceptions.ProgrammingError, "nope")
r.refused("dbapi: closed", lambda: (lambda c: (c.close(), c.execute("SELECT 1")))(conn.cursor()), Exception, "closed")

# SQLAlchemy.
engine = sa.create_engine(f"druid://{url.hostname}:{url.port}/druid/v2/sql/?header=true")
inspector = sa.inspect(engine)
r.step("sqlalchemy: schemas", lambda: sorted(inspector.get_schema_names()), ["druid", "lookup", "sys", "view"])
r.step("sqlalchemy: tables", lambda: inspector.get_table_names(schema="druid"), ["visits"])
r.step("sqlalchemy: has table", lambda: (inspector.has_table("visits"), inspector.has_table("nothing")), (True, False))
r.step("sqlalchemy: columns", lambda: {c["name"]: str(c["type"]) for c in inspector.get_columns("visits", schema="druid")},
       {"__time": "TIMESTAMP", "added": "BIGINT", "channel": "VARCHAR", "delta": "FLOAT", "page": "VARCHAR", "tags": "VARCHAR"})
table = sa.Table("visits", sa.MetaData(), autoload_with=engine)


def selected(statement):
    with engine.connect() as c:
        return [tuple(row) for row in c.execute(statement)]


r.step("sqlalchemy: expressions", lambda: selected(sa.select(table.c.channel, sa.func.sum(table.c.added)).where(table.c.added >= sa.bindparam("n", 24))
       .group_by(table.c.channel).order_by(sa.func.sum(table.c.added).desc()).limit(2)), [("#fr", 292), ("#de", 284)])
r.step("sqlalchemy: text", lambda: selected(sa.text("SELECT MAX(__time) FROM visits")), [("2024-01-02T23:00:00.000Z",)])
r.refused("sqlalchemy: error", lambda: selected(sa.text("SELECT FROM WHERE")), Exception, "FROM")

# Native queries.
native = PyDruid(f"http://{url.netloc}", "druid/v2")
common = {"datasource": "visits", "intervals": "2024-01-01/2024-01-03"}
r.step("native: timeseries", lambda: [x["result"]["added"] for x in native.timeseries(granularity="day", aggregations={"added": longsum("added")}, **common)],
       [276, 852])
r.step("native: topn", lambda: [x["channel"] for x in native.topn(granularity="all", dimension="channel", metric="added", threshold=2,
       aggregations={"added": longsum("added")}, **common)[0]["result"]], ["#fr", "#de"])
r.step("native: groupby", lambda: [(x["event"]["channel"], x["event"]["n"], x["event"]["half"]) for x in native.groupby(
    granularity="all", dimensions=["channel"], aggregations={"n": count("n"), "added": longsum("added"), "delta": doublesum("delta")},
    post_aggregations={"half": Field("added") / Const(2)}, filter=Dimension("channel") != "#de", having=Aggregation("added") > 370, **common)],
    [("#fr", 16, sum(range(2, 48, 3)) / 2)])
r.step("native: filters", lambda: native.timeseries(granularity="all", aggregations={"n": filtered(Filter(dimension="channel", value="#en"), count("n"))},
       filter=Filter(type="or", fields=[Filter(dimension="page", value="page 1"), Filter(type="regex", dimension="page", pattern="2$")]), **common)[0]["result"]["n"], 4)
r.step("native: dimension spec", lambda: [x["event"]["day"] for x in native.groupby(granularity="all", dimensions=[DimensionSpec(
    "__time", "day", extraction_function=TimeFormatExtraction("yyyy-MM-dd"))], aggregations={"n": count("n")}, **common)], ["2024-01-01", "2024-01-02"])
r.step("native: cardinality", lambda: round(native.timeseries(granularity="all", aggregations={"u": {"type": "cardinality", "fields": ["page"]}},
       post_aggregations={"p": HyperUniqueCardinality("u")}, **common)[0]["result"]["p"]), 7)
r.step("native: scan", lambda: len(native.scan(granularity="all", limit=5, columns=["page"], **common)[0]["events"]), 5)
r.step("native: time boundary", lambda: native.time_boundary(datasource="visits")[0]["result"],
       {"maxTime": "2024-01-02T23:00:00.000Z", "minTime": "2024-01-01T00:00:00.000Z"})
r.step("native: segment metadata", lambda: sorted(native.segment_metadata(**common)[0]["columns"]), ["__time", "added", "channel", "delta", "page", "tags"])
r.refused("native: error", lambda: native.timeseries(granularity="never", aggregations={"n": count("n")}, **common), OSError, "Druid Error")
r.exit()
