"""What Superset sends to a Druid database, through pydruid's dialect of SQLAlchemy: the expressions
of its time grains, of times, and the statements of its charts and of SQL Lab."""
import sys
from urllib.parse import urlparse

import sqlalchemy as sa

from report import Report

url = urlparse(sys.argv[1])
r = Report()
engine = sa.create_engine(f"druid://{url.hostname}:{url.port}/druid/v2/sql/")

periods = ["PT1S", "PT5S", "PT30S", "PT1M", "PT5M", "PT10M", "PT15M", "PT30M", "PT1H", "PT6H", "P1D", "P1W", "P1M", "P3M", "P1Y"]
grains = {p: f"TIME_FLOOR(CAST({{col}} AS TIMESTAMP), '{p}')" for p in periods}
grains["P1W/1970-01-03T00:00:00Z"] = "TIME_SHIFT(TIME_FLOOR(TIME_SHIFT(CAST({col} AS TIMESTAMP), 'P1D', 1), 'P1W'), 'P1D', 5)"
grains["1969-12-28T00:00:00Z/P1W"] = "TIME_SHIFT(TIME_FLOOR(TIME_SHIFT(CAST({col} AS TIMESTAMP), 'P1D', 1), 'P1W'), 'P1D', -1)"
# Those of releases before 2.
for unit in ["SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"]:
    grains["FLOOR TO " + unit] = "FLOOR({col} TO " + unit + ")"
grains["TIMESTAMPADD saturday"] = "TIMESTAMPADD(DAY, 5, FLOOR(TIMESTAMPADD(DAY, 1, {col}) TO WEEK))"
grains["TIMESTAMPADD sunday"] = "TIMESTAMPADD(DAY, -1, FLOOR(TIMESTAMPADD(DAY, 1, {col}) TO WEEK))"

first = {  # of 2024-01-01, a Monday
    "P1W": "2024-01-01", "FLOOR TO WEEK": "2024-01-01", "P1W/1970-01-03T00:00:00Z": "2024-01-06", "1969-12-28T00:00:00Z/P1W": "2023-12-31",
    "TIMESTAMPADD saturday": "2024-01-06", "TIMESTAMPADD sunday": "2023-12-31",
}


def rows(sql):
    with engine.connect() as c:
        return [tuple(row) for row in c.exec_driver_sql(sql)]


for name, grain in grains.items():
    sql = (f"SELECT {grain.format(col='__time')} AS __timestamp, SUM(\"added\") AS \"SUM(added)\"\nFROM \"druid\".\"visits\"\n"
           f"WHERE __time >= TIME_PARSE('2024-01-01T00:00:00') AND __time < TIME_PARSE('2024-01-03T00:00:00')\n"
           f"GROUP BY {grain.format(col='__time')}\nORDER BY __timestamp ASC\nLIMIT 10000")
    r.step("grain " + name, lambda: rows(sql)[0][0][:10], first.get(name, "2024-01-01"))
r.step("a series limit", lambda: rows(
    "SELECT TIME_FLOOR(CAST(__time AS TIMESTAMP), 'P1D') AS __timestamp, channel AS channel, COUNT(*) AS count\nFROM druid.visits\n"
    "JOIN (SELECT channel AS channel__, COUNT(*) AS mme_inner__ FROM druid.visits GROUP BY channel ORDER BY mme_inner__ DESC, channel__ LIMIT 1) AS anon_1 "
    "ON channel = channel__\nGROUP BY channel, TIME_FLOOR(CAST(__time AS TIMESTAMP), 'P1D')\nORDER BY 1 LIMIT 50000"),
    [("2024-01-01T00:00:00.000Z", "#de", 8), ("2024-01-02T00:00:00.000Z", "#de", 8)])
r.step("values of a filter", lambda: rows("SELECT DISTINCT channel AS channel\nFROM druid.visits\nORDER BY channel LIMIT 1000"), [("#de",), ("#en",), ("#fr",)])
r.step("a virtual table", lambda: rows("SELECT page AS page, AVG(delta) AS \"AVG(delta)\"\nFROM (SELECT * FROM visits WHERE channel = '#en'\n) AS virtual_table\n"
                                       "GROUP BY page ORDER BY page LIMIT 1"), [("page 0", 10.5)])
r.step("a preview", lambda: len(rows("SELECT *\nFROM druid.visits\nLIMIT 100")[0]), 6)
r.step("dates", lambda: rows("SELECT COUNT(*) FROM visits WHERE __time >= CAST(TIME_PARSE('2024-01-02') AS DATE)"), [(24,)])
r.step("epochs", lambda: rows("SELECT COUNT(*) FROM visits WHERE __time >= MILLIS_TO_TIMESTAMP(1704153600 * 1000)"), [(24,)])
r.step("names in capital letters", lambda: rows("SELECT COUNT(*) AS \"COUNT(*)\", COUNT(DISTINCT page) AS \"COUNT_DISTINCT(page)\" FROM druid.visits"), [(48, 7)])
r.step("the test of a connection", lambda: rows("SELECT 1"), [(1,)])
r.step("views", lambda: sa.inspect(engine).get_view_names(), [])
r.refused("an error", lambda: rows("SELECT x FROM druid.visits"), Exception, "x")
r.exit()
