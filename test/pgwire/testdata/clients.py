"""What applications do with psycopg, asyncpg and SQLAlchemy; each step prints its name when it is right."""
import asyncio
import datetime
import sys

import asyncpg
import psycopg
import sqlalchemy as sa

host, port = sys.argv[1].split(":")
dsn = f"host={host} port={port} user=ann dbname=henge"
start = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)


def values():
    with psycopg.connect(dsn) as c:
        want = [("Help", 20, 2.5, start + datetime.timedelta(hours=1), ["b"], True), ("Main", 30, 3.5, start + datetime.timedelta(days=1), ["c"], False)]
        sql = "select page, added, delta, __time, tags, flag from wiki where added > %s order by added"
        for binary in (False, True):
            assert c.cursor(binary=binary).execute(sql, (10,)).fetchall() == want
        assert len(c.execute("select page from wiki where page = any(%s) and __time >= %s", (["Main"], start)).fetchall()) == 2
        literals = "select 1, 1.5, 'a'::text, array[1,2], '2020-01-01'::date, interval '1 day', null, true, '\\x01'::bytea, '{\"a\":1}'::jsonb"
        for binary in (False, True):
            row = c.cursor(binary=binary).execute(literals).fetchone()
            assert row[2:] == ("a", [1, 2], datetime.date(2020, 1, 1), datetime.timedelta(days=1), None, True, b"\x01", {"a": 1}), row


def server_cursors():
    with psycopg.connect(dsn) as c, c.cursor(name="x") as cur:
        cur.itersize = 1
        cur.execute("select page from wiki")
        assert len(list(cur)) == 3


def copies():
    with psycopg.connect(dsn) as c, c.cursor().copy("copy (select page, added from wiki) to stdout (format binary)") as cp:
        cp.set_types(["text", "int8"])
        assert sorted(cp.rows()) == [("Help", 20), ("Main", 10), ("Main", 30)]


def errors():
    with psycopg.connect(dsn) as c:
        try:
            c.execute("select nope from wiki")
            assert False
        except psycopg.errors.UndefinedColumn as e:
            assert e.diag.statement_position == "8"
        c.rollback()
        for sql, kind in (("select * from nothere", psycopg.errors.UndefinedTable), ("selec", psycopg.errors.SyntaxError)):
            try:
                c.execute(sql)
                assert False
            except kind:
                c.rollback()


def pipelines():
    with psycopg.connect(dsn, autocommit=True) as c, c.pipeline():
        a, b = c.execute("select 1"), c.execute("select count(*) from wiki where added > %s", (5,))
        assert a.fetchone()[0] == 1 and b.fetchone()[0] == 3


async def asyncpg_steps():
    c = await asyncpg.connect(host=host, port=int(port), user="ann", database="henge")
    assert len(await c.fetch("select page, tags from wiki where added > $1 and page like $2 limit $3", 5, "M%", 10)) == 2
    assert len(await c.fetch("select * from wiki where page = any($1) and __time > $2", ["Help"], start)) == 1
    async with c.transaction():
        assert len([r async for r in c.cursor("select page from wiki", prefetch=1)]) == 3
    assert await c.fetchval("select $1::int + 1", 4) == 5
    assert await c.fetchval("select count(*) from pg_class where relname = $1", "wiki") == 1
    s = await c.prepare("select page from wiki where added = $1")
    assert s.get_parameters()[0].name == "int8"
    await c.reset()
    await c.close()


def reflection():
    e = sa.create_engine(f"postgresql+psycopg://ann@{host}:{port}/henge")
    i = sa.inspect(e)
    assert i.get_table_names() == ["sink", "wiki"] and "segments" in i.get_view_names("sys")
    columns = {k["name"]: str(k["type"]) for k in i.get_columns("wiki")}
    assert columns["__time"] == "TIMESTAMP" and columns["added"] == "BIGINT" and columns["tags"] == "ARRAY", columns
    assert i.get_pk_constraint("wiki")["constrained_columns"] == [] and i.get_foreign_keys("wiki") == [] and i.get_indexes("wiki") == []
    m = sa.MetaData()
    m.reflect(e)
    w = m.tables["wiki"]
    with e.connect() as c:
        total = sa.func.sum(w.c.added).label("s")
        q = sa.select(w.c.page, total).where(w.c["__time"] >= start).group_by(w.c.page).order_by(sa.desc("s")).limit(1)
        assert c.execute(q).fetchall() == [("Main", 40)]
        assert len(c.execute(sa.select(w).where(w.c.page.in_(["Main", "Help"])).limit(2).offset(1)).fetchall()) == 2


def writes():
    march = datetime.datetime(2024, 3, 1, tzinfo=datetime.timezone.utc)
    count = lambda c, page: c.execute("select count(*), sum(added), sum(delta) from sink where page = %s", (page,)).fetchone()
    with psycopg.connect(dsn) as c:
        with c.cursor() as cur:
            cur.executemany("insert into sink (__time, page, added, delta, tags) values (%s, %s, %s, %s, %s)",
                            [(march, "many", n, 0.5, ["a", None]) for n in range(100)])
            assert cur.rowcount == 100, cur.rowcount
        assert count(c, "many")[0] == 0  # a transaction does not see what it has written
        c.commit()
        assert count(c, "many") == (100, 4950, 50)
        c.rollback()
        with c.cursor().copy("copy sink (__time, page, added, tags) from stdin") as cp:
            for n in range(10):
                cp.write_row((march, "te\txt\n", n, ["x", "y z"]))
        with c.cursor().copy("copy sink (__time, page, added) from stdin (format binary)") as cp:
            cp.set_types(["timestamptz", "text", "int8"])
            for n in range(10):
                cp.write_row((march, "binary", n))
        c.commit()
        assert count(c, "te\txt\n")[:2] == (10, 45) and count(c, "binary")[:2] == (10, 45)
        c.rollback()
        c.execute("insert into sink (__time, page) values (now(), 'gone')")
        c.rollback()
        assert count(c, "gone")[0] == 0
        try:
            with c.cursor().copy("copy sink (__time, page, added) from stdin") as cp:
                cp.write("2024-03-01Z\tbad\t1\n2024-03-01Z\tbad\tx\n")
            assert False
        except psycopg.errors.InvalidTextRepresentation as e:
            assert e.diag.context == 'COPY sink, line 2, column added: "x"', e.diag.context
        c.rollback()
        assert count(c, "bad")[0] == 0
        try:
            c.execute("update sink set added = 1")
            assert False
        except psycopg.errors.FeatureNotSupported as e:
            assert "ingestion" in e.diag.message_hint
    e = sa.create_engine(f"postgresql+psycopg://ann@{host}:{port}/henge")
    t = sa.Table("sink", sa.MetaData(), autoload_with=e)
    with e.begin() as c:
        c.execute(sa.insert(t), [{"__time": march, "page": "alchemy", "added": n} for n in range(20)])
    with e.connect() as c:
        assert c.execute(sa.select(sa.func.count()).where(t.c.page == "alchemy")).scalar() == 20


async def asyncpg_writes():
    c = await asyncpg.connect(host=host, port=int(port), user="ann", database="henge")
    rows = [(start, "async", n) for n in range(50)]
    await c.copy_records_to_table("sink", records=rows, columns=["__time", "page", "added"])
    await c.executemany("insert into sink (__time, page, added) values ($1, $2, $3)", rows)
    assert await c.fetchval("select count(*) from sink where page = 'async'") == 100
    await c.close()


for step in (values, server_cursors, copies, errors, pipelines, lambda: asyncio.run(asyncpg_steps()), reflection, writes,
             lambda: asyncio.run(asyncpg_writes())):
    step()
print("all steps are right")
