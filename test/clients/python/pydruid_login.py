"""pydruid, unmodified, with users and passwords: DB-API, SQLAlchemy and native queries."""
import sys
from urllib.parse import quote, urlparse

import sqlalchemy as sa
from pydruid import db
from pydruid.client import PyDruid
from pydruid.utils.aggregators import count

from report import Report

url, user, password = urlparse(sys.argv[1]), sys.argv[2], sys.argv[3]
r = Report()


def rows(sql, user=None, password=None):
    cursor = db.connect(host=url.hostname, port=url.port, path="/druid/v2/sql/", user=user, password=password).cursor()
    cursor.execute(sql)
    return [tuple(row) for row in cursor]


def engine(user, password):
    return sa.create_engine(f"druid://{quote(user)}:{quote(password)}@{url.hostname}:{url.port}/druid/v2/sql/?header=true")


def native(user, password):
    client = PyDruid(url.geturl(), "druid/v2/")
    if user:
        client.set_basic_auth_credentials(user, password)
    query = client.timeseries(datasource="visits", granularity="all", intervals="2024-01-01/2024-02-01", aggregations={"n": count("n")})
    return [row["result"]["n"] for row in query.result]


visits, other = "SELECT COUNT(*) AS n FROM visits", "SELECT COUNT(*) AS n FROM hidden"
r.step("dbapi: own datasource", lambda: rows(visits, user, password), [(48,)])
r.refused("dbapi: another datasource", lambda: rows(other, user, password), Exception, "")
r.refused("dbapi: wrong password", lambda: rows(visits, user, "x"), Exception, "")
r.refused("dbapi: nobody", lambda: rows(visits), Exception, "")
r.step("sqlalchemy: own datasource", lambda: [tuple(x) for x in engine(user, password).execute(visits)], [(48,)])
r.step("sqlalchemy: tables", lambda: sa.inspect(engine(user, password)).get_table_names(schema="druid"), ["visits"])
r.refused("sqlalchemy: wrong password", lambda: list(engine(user, "x").execute(visits)), Exception, "")
r.step("native: own datasource", lambda: native(user, password), [48])
r.refused("native: wrong password", lambda: native(user, "x"), Exception, "401")
r.refused("native: nobody", lambda: native(None, None), Exception, "401")
r.exit()
