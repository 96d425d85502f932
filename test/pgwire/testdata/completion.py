"""What pgcli reads of the catalog for its completion."""
import sys

from pgcli.pgexecute import PGExecute

host, port = sys.argv[1].split(":")
e = PGExecute(database="henge", user="ann", password="", host=host, port=port, dsn="")
assert ("public", "wiki") in list(e.tables()), list(e.tables())
assert ("sys", "segments") in list(e.views())
columns = {(c[1], c[2]): c[3] for c in e.table_columns()}
assert columns[("wiki", "added")] == "bigint" and columns[("wiki", "tags")] == "text[]", columns
assert ("segments", "datasource") in {(c[1], c[2]) for c in e.view_columns()}
assert "public" in list(e.schemata()) and "henge" in e.databases() and e.search_path()
assert list(e.foreignkeys()) == []
list(e.functions())
list(e.datatypes())
list(e.casing())
assert e.superuser in ("on", "off", True, False), e.superuser
print("all is read")
