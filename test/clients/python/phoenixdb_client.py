"""phoenixdb, unmodified: an Avatica client that speaks protobuf."""
import sys

import phoenixdb
import phoenixdb.cursor

from report import Report

r = Report()
conn = phoenixdb.connect(sys.argv[1] + "/druid/v2/sql/avatica-protobuf/", autocommit=True)


def rows(sql, *params):
    with conn.cursor() as cursor:
        cursor.execute(sql, *params)
        return [tuple(row) for row in cursor.fetchall()]


r.step("rows", lambda: rows("SELECT channel, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1"), [("#de", 16), ("#en", 16), ("#fr", 16)])
r.step("types", lambda: rows("SELECT 1, CAST(1.5 AS DOUBLE), 'x', TRUE, CAST(NULL AS VARCHAR)"), [(1, 1.5, "x", True, None)])
r.step("times", lambda: str(rows("SELECT MAX(__time) FROM visits")[0][0]), "2024-01-02 23:00:00")
r.step("parameters", lambda: rows("SELECT COUNT(*) FROM visits WHERE channel = ? AND added > ?", ("#en", 10)), [(12,)])


def frames():
    cursor = conn.cursor(cursor_factory=phoenixdb.cursor.DictCursor)
    cursor.itersize = 10
    cursor.execute("SELECT added FROM visits ORDER BY added")
    return [row["added"] for row in cursor]


r.step("frames", frames, list(range(48)))
r.step("description", lambda: (lambda c: (c.execute("SELECT channel, added FROM visits LIMIT 1"), [d[0] for d in c.description])[1])(conn.cursor()), ["channel", "added"])
r.refused("error", lambda: rows("SELECT nope FROM visits"), phoenixdb.errors.Error, "nope")
r.step("after an error", lambda: rows("SELECT 1"), [(1,)])
r.step("close", lambda: (conn.close(), conn.closed)[1], True)
r.exit()
