# Makes ORC files with pyarrow, and what is in them as lines of JSON: python3 make.py FOLDER ROWS [SEED].
# The files in this folder: make.py . 120
import base64, datetime, decimal, json, os, random, sys
import pyarrow as pa
from pyarrow import orc

folder, rows = sys.argv[1], int(sys.argv[2])
r = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
utc = datetime.timezone.utc

def maybe(make):
    return [None if r.random() < 0.2 else make(i) for i in range(rows)]

def whole(i):  # runs of every kind: repeated, short, with few large values among small ones, with constant differences
    part = i // 20 % 6
    if part == 0: return 7
    if part == 1: return r.randrange(-5, 5)
    if part == 2: return 1 << 50 if i % 37 == 0 else r.randrange(100, 200)
    if part == 3: return -3 * i
    if part == 4: return i * i
    return r.randrange(-2**63, 2**63)

words = ['alpha', 'beta', 'gämma', '', 'delta\n"x"']
start = datetime.datetime(2024, 1, 1)
moments = [start + datetime.timedelta(milliseconds=r.randrange(-10**12 * 3, 10**12)) for _ in range(rows)]
columns = {
    'b': pa.array(maybe(lambda i: r.random() < 0.5), pa.bool_()),
    'i8': pa.array(maybe(lambda i: r.randrange(-128, 128) if i % 100 > 50 else 3), pa.int8()),
    'i16': pa.array(maybe(lambda i: r.randrange(-32768, 32768)), pa.int16()),
    'i32': pa.array(maybe(lambda i: i // 3), pa.int32()),
    'i64': pa.array([whole(i) for i in range(rows)], pa.int64()),
    'n64': pa.array(maybe(whole), pa.int64()),
    'f': pa.array(maybe(lambda i: r.randrange(1000) / 4), pa.float32()),
    'd': pa.array(maybe(lambda i: r.random()), pa.float64()),
    's': pa.array(maybe(lambda i: '%x' % r.getrandbits(64)), pa.string()),
    'w': pa.array(maybe(lambda i: words[r.randrange(5)]), pa.string()),
    'raw': pa.array(maybe(lambda i: bytes([r.randrange(256)] * (i % 4))), pa.binary()),
    'day': pa.array(maybe(lambda i: datetime.date(1900, 1, 1) + datetime.timedelta(days=r.randrange(70000))), pa.date32()),
    'at': pa.array(maybe(lambda i: moments[i]), pa.timestamp('ns')),
    'dec': pa.array(maybe(lambda i: decimal.Decimal(r.randrange(-10**8, 10**8)).scaleb(-2)), pa.decimal128(38, 2)),
    'big': pa.array(maybe(lambda i: decimal.Decimal(r.randrange(-10**30, 10**30))), pa.decimal128(38, 0)),
    'l': pa.array(maybe(lambda i: [r.randrange(9) if k else None for k in range(i % 4)]), pa.list_(pa.int64())),
    'm': pa.array(maybe(lambda i: [('k%d' % k, k / 2) for k in range(i % 3)]), pa.map_(pa.string(), pa.float64())),
    'o': pa.array(maybe(lambda i: {'x': i, 'y': None if i % 3 else {'z': [{'t': words[i % 5]}]}}),
                  pa.struct([('x', pa.int64()), ('y', pa.struct([('z', pa.list_(pa.struct([('t', pa.string())])))]))])),
    'none': pa.array([None] * rows, pa.string()),
}
table = pa.table(columns)

def shown(v, t):
    if v is None: return None
    if pa.types.is_decimal(t): return float(v)
    if pa.types.is_date(t): return v.strftime('%Y-%m-%dT00:00:00.000Z') if v.year > 999 else None
    if pa.types.is_timestamp(t): return round((v.replace(tzinfo=utc) - datetime.datetime(1970, 1, 1, tzinfo=utc)) / datetime.timedelta(milliseconds=1))
    if pa.types.is_binary(t): return base64.b64encode(v).decode()
    if pa.types.is_list(t): return [shown(e, t.value_type) for e in v]
    if pa.types.is_map(t): return {k: shown(e, t.item_type) for k, e in v}
    if pa.types.is_struct(t): return {f.name: shown(v[f.name], f.type) for f in t}
    return v

with open(os.path.join(folder, 'rows.json'), 'w') as f:
    for row in table.to_pylist():
        f.write(json.dumps({f.name: shown(row[f.name], f.type) for f in table.schema}, ensure_ascii=False) + '\n')
for name, options in {
    'plain': dict(compression='uncompressed'), 'zlib': dict(compression='zlib', dictionary_key_size_threshold=1), 'snappy': dict(compression='snappy'),
    'lz4': dict(compression='lz4'), 'zstd': dict(compression='zstd', dictionary_key_size_threshold=1),
    'old': dict(compression='zlib', file_version='0.11', dictionary_key_size_threshold=1),
}.items():
    orc.write_table(table, os.path.join(folder, name + '.orc'), stripe_size=64 << 10, batch_size=100, **options)
