# Makes Parquet files with every writer at hand, and says what pyarrow reads in them: python3 make.py FOLDER SEED.
# Beside each x.parquet is x.jsonl: first the columns with their kinds, then a line of JSON per row.
import base64, datetime, decimal, json, math, os, random, struct, sys, uuid
import pyarrow as pa
import pyarrow.parquet as pq

folder, seed = sys.argv[1], int(sys.argv[2])
r = random.Random(seed)
sizes = [0, 1, 2, 7, 8, 9, 31, 33, 64, 65, 127, 129, 1000, 10000]
codecs = ['none', 'snappy', 'gzip', 'brotli', 'zstd', 'lz4']

def number32(v):
    for digits in range(1, 10):
        text = '%.*g' % (digits, v)
        if struct.unpack('f', struct.pack('f', float(text)))[0] == v:
            return text

def real(v, text):
    if v is None: return 'null'
    if math.isnan(v): return '"NaN"'
    if math.isinf(v): return '"Infinity"' if v > 0 else '"-Infinity"'
    return text(v)

def plain(values, text=str):
    return ['null' if v is None else text(v) for v in values]

def texts(a):
    """The values of an array as JSON."""
    t = a.type
    if isinstance(a, pa.ExtensionArray):
        if t.extension_name == 'arrow.uuid':
            return plain(a.storage.to_pylist(), lambda b: '"%s"' % uuid.UUID(bytes=b))
        return texts(a.storage)
    if pa.types.is_dictionary(t): return texts(a.dictionary_decode())
    if pa.types.is_null(t): return ['null'] * len(a)
    if pa.types.is_boolean(t): return plain(a.to_pylist(), lambda v: 'true' if v else 'false')
    if pa.types.is_integer(t): return plain(a.to_pylist())
    if pa.types.is_float64(t): return [real(v, repr) for v in a.to_pylist()]
    if pa.types.is_floating(t): return [real(v, number32) for v in a.cast(pa.float32()).to_pylist()]
    if pa.types.is_decimal(t): return plain(a.to_pylist(), lambda v: format(v, 'f'))
    if pa.types.is_date32(t): return plain(a.cast(pa.int32()).to_pylist(), lambda v: str(v * 86400000))
    if pa.types.is_time32(t): return plain(a.cast(pa.int32()).to_pylist(), lambda v: str(v * (1000 if t.unit == 's' else 1)))
    if pa.types.is_time64(t) or pa.types.is_timestamp(t):
        unit = {'s': 0.001, 'ms': 1, 'us': 1000, 'ns': 1000000}[t.unit]
        return plain(a.cast(pa.int64()).to_pylist(), lambda v: str(v * 1000 if t.unit == 's' else v // unit))
    if pa.types.is_duration(t): return plain(a.cast(pa.int64()).to_pylist())
    if pa.types.is_binary(t) or pa.types.is_large_binary(t) or pa.types.is_fixed_size_binary(t):
        return plain(a.to_pylist(), lambda v: '"%s"' % base64.b64encode(v).decode())
    if pa.types.is_map(t):
        keys, items, at = texts(a.keys), texts(a.items), a.offsets.to_pylist()
        return [('{%s}' % ','.join((k if k[0] == '"' else '"%s"' % k) + ':' + i for k, i in zip(keys[at[n]:at[n+1]], items[at[n]:at[n+1]]))) if ok else 'null'
                for n, ok in enumerate(a.is_valid().to_pylist())]
    if pa.types.is_fixed_size_list(t): return texts(a.cast(pa.list_(t.value_type)))
    if pa.types.is_list(t) or pa.types.is_large_list(t):
        values, at = texts(a.values), a.offsets.to_pylist()
        return ['[%s]' % ','.join(values[at[n]:at[n+1]]) if ok else 'null' for n, ok in enumerate(a.is_valid().to_pylist())]
    if pa.types.is_struct(t):
        parts = [[json.dumps(t.field(i).name) + ':' + v for v in texts(a.field(i))] for i in range(t.num_fields)]
        return ['{%s}' % ','.join(row) if ok else 'null' for ok, *row in zip(a.is_valid().to_pylist(), *parts)]
    return plain(a.cast(pa.string()).to_pylist(), lambda v: json.dumps(v, ensure_ascii=False))

def kind(t):
    if pa.types.is_integer(t) and t != pa.uint64() or pa.types.is_date32(t) or pa.types.is_time(t) or pa.types.is_timestamp(t) or pa.types.is_duration(t):
        return 'long'
    if pa.types.is_floating(t): return 'double' if pa.types.is_float64(t) else 'float'
    if pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_dictionary(t) and pa.types.is_string(t.value_type): return 'string'
    return 'json'

written = 0
def expect(name, table=None):
    """Says what is in a file: a table, or what pyarrow reads."""
    global written
    written += 1
    if table is None: table = pq.read_table(os.path.join(folder, name + '.parquet'))
    table = table.combine_chunks()
    columns = []
    for i, f in enumerate(table.schema):
        chunks = table.column(i).chunks
        columns.append(texts(chunks[0]) if chunks else [])
    with open(os.path.join(folder, name + '.jsonl'), 'w') as out:
        out.write(json.dumps([[f.name, kind(f.type)] for f in table.schema]) + '\n')
        names = [json.dumps(f.name) for f in table.schema]
        for row in range(table.num_rows):
            out.write('{%s}\n' % ','.join(n + ':' + c[row] for n, c in zip(names, columns)))

def maybe(n, make, nulls):
    return [None if r.random() < nulls else make(i) for i in range(n)]

def whole(bits, signed=True):
    """Numbers of every kind: runs, small ones, ascending, and such whose differences need more bits than the numbers have."""
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    def make(i):
        part = i // 100 % 5
        if part == 0: return 7
        if part == 1: return r.randrange(0, 100)
        if part == 2: return min(i * 3, high)
        if part == 3: return low if i % 2 else high
        return r.randrange(low, high + 1)
    return make

words = ['alpha', 'beta', 'gämma', '', 'delta\n"x"', 'a longer text of some bytes ']
def text(i): return words[r.randrange(5)] if i // 200 % 2 else '%s%x' % (words[5] if i % 3 else '', r.getrandbits(4 + i % 90))

def flat(n, nulls=0.2):
    day = lambda i: r.randrange(-700000, 2900000)
    columns = {
        'b': ([v for v in maybe(n, lambda i: r.random() < 0.5 if i // 50 % 2 else True, nulls)], pa.bool_()),
        'i8': (maybe(n, whole(8), nulls), pa.int8()), 'i16': (maybe(n, whole(16), nulls), pa.int16()),
        'i32': (maybe(n, whole(32), nulls), pa.int32()), 'i64': (maybe(n, whole(64), nulls), pa.int64()),
        'u8': (maybe(n, whole(8, False), nulls), pa.uint8()), 'u16': (maybe(n, whole(16, False), nulls), pa.uint16()),
        'u32': (maybe(n, whole(32, False), nulls), pa.uint32()), 'u64': (maybe(n, whole(64, False), nulls), pa.uint64()),
        'f': (maybe(n, lambda i: struct.unpack('f', struct.pack('f', r.choice([0.0, -1.5, math.inf, r.random() * 1e30, r.random()])))[0], nulls), pa.float32()),
        'd': (maybe(n, lambda i: r.choice([0.0, -1.5, -math.inf, math.nan, r.random() * 1e300, r.random()]), nulls), pa.float64()),
        's': (maybe(n, text, nulls), pa.string()), 'raw': (maybe(n, lambda i: r.randbytes(r.randrange(9)), nulls), pa.binary()),
        'fix': (maybe(n, lambda i: r.randbytes(5), nulls), pa.binary(5)),
        'few': (maybe(n, lambda i: words[r.randrange(3)], nulls), pa.dictionary(pa.int32(), pa.string())),
        'day': (maybe(n, day, nulls), pa.int32()), 't32': (maybe(n, lambda i: r.randrange(86400000), nulls), pa.int32()),
        't64': (maybe(n, lambda i: r.randrange(86400000000), nulls), pa.int64()), 't64n': (maybe(n, lambda i: r.randrange(86400000000000), nulls), pa.int64()),
        'ms': (maybe(n, whole(58), nulls), pa.int64()), 'us': (maybe(n, whole(64), nulls), pa.int64()), 'ns': (maybe(n, whole(64), nulls), pa.int64()),
        'dec9': (maybe(n, lambda i: decimal.Decimal(r.randrange(-10**9 + 1, 10**9)).scaleb(-2), nulls), pa.decimal128(9, 2)),
        'dec38': (maybe(n, lambda i: decimal.Decimal(r.randrange(-10**15, 10**15)).scaleb(-5), nulls), pa.decimal128(38, 5)),
        'none': ([None] * n, pa.null()), 'nulls': ([None] * n, pa.int64()), 'same': ([5] * n, pa.int64()),
        'l': (maybe(n, lambda i: [r.randrange(9) if k else None for k in range(i % 4)], nulls), pa.list_(pa.int64())),
        'm': (maybe(n, lambda i: [('k%d' % k, k / 2) for k in range(i % 3)], nulls), pa.map_(pa.string(), pa.float64())),
        'o': (maybe(n, lambda i: {'x': i, 'y': None if i % 3 else [[words[i % 5]], None, []]}, nulls),
              pa.struct([('x', pa.int32()), ('y', pa.list_(pa.list_(pa.string())))])),
    }
    times = {'day': pa.date32(), 't32': pa.time32('ms'), 't64': pa.time64('us'), 't64n': pa.time64('ns'), 'ms': pa.timestamp('ms'), 'us': pa.timestamp('us', 'UTC'),
             'ns': pa.timestamp('ns')}
    arrays = {name: pa.array(values, t) for name, (values, t) in columns.items()}
    arrays = {name: a.cast(times[name]) if name in times else a for name, a in arrays.items()}
    arrays['h'] = pa.array([None if v is None else struct.unpack('e', struct.pack('H', v & 0xffff))[0] for v in maybe(n, lambda i: r.getrandbits(16), nulls)], pa.float16())
    return pa.table({**arrays, 'req': pa.array(range(n), pa.int64())},
                    schema=pa.schema([pa.field(name, a.type) for name, a in arrays.items()] + [pa.field('req', pa.int64(), nullable=False)]))

def write(name, table, **options):
    pq.write_table(table, os.path.join(folder, name + '.parquet'), **options)
    expect(name, table)

# pyarrow: codecs, versions of pages, with and without dictionaries, which become too large for their limit.
table = flat(1000)
for codec in codecs:
    for version in ['1.0', '2.0']:
        for coded in [True, False]:
            write('arrow-%s-v%s-%s' % (codec, version[0], 'dict' if coded else 'plain'), table, compression=codec, data_page_version=version, use_dictionary=coded,
                  row_group_size=r.choice([300, 999, 5000]), data_page_size=r.choice([1, 200, 1 << 20]), dictionary_pagesize_limit=r.choice([100, 1 << 20]),
                  write_page_checksum=r.random() < 0.5, use_byte_stream_split=False)
# pyarrow: sizes.
for n in sizes:
    for nulls in [0, 0.5]:
        write('arrow-rows-%d-%s' % (n, nulls), flat(n, nulls), compression=r.choice(codecs), data_page_version=r.choice(['1.0', '2.0']),
              row_group_size=r.choice([n // 3 + 1, 100000]))
write('arrow-int96', flat(300).select(['ns', 'ms', 'us']), use_deprecated_int96_timestamps=True)
# pyarrow: encodings.
encodings = {
    'b': ['PLAIN', 'RLE'], 'i32': ['PLAIN', 'DELTA_BINARY_PACKED', 'BYTE_STREAM_SPLIT'], 'i64': ['PLAIN', 'DELTA_BINARY_PACKED', 'BYTE_STREAM_SPLIT'],
    'u32': ['DELTA_BINARY_PACKED'], 'day': ['DELTA_BINARY_PACKED'], 'us': ['DELTA_BINARY_PACKED', 'BYTE_STREAM_SPLIT'],
    'f': ['PLAIN', 'BYTE_STREAM_SPLIT'], 'd': ['PLAIN', 'BYTE_STREAM_SPLIT'], 's': ['PLAIN', 'DELTA_LENGTH_BYTE_ARRAY', 'DELTA_BYTE_ARRAY'],
    'raw': ['PLAIN', 'DELTA_LENGTH_BYTE_ARRAY', 'DELTA_BYTE_ARRAY'], 'fix': ['PLAIN', 'BYTE_STREAM_SPLIT', 'DELTA_BYTE_ARRAY'], 'h': ['PLAIN', 'BYTE_STREAM_SPLIT'],
    'dec9': ['PLAIN', 'BYTE_STREAM_SPLIT', 'DELTA_BYTE_ARRAY'], 'l.list.element': ['DELTA_BINARY_PACKED', 'BYTE_STREAM_SPLIT'],
    'o.y.list.element.list.element': ['DELTA_BYTE_ARRAY', 'DELTA_LENGTH_BYTE_ARRAY'],
}
for n in sizes:
    for version in ['1.0', '2.0']:
        for round in range(3 if n < 1000 else 1):
            table = flat(n, r.choice([0, 0.1, 0.9]) if n else 0)
            top = {c.split('.')[0] for c in encodings}
            write('arrow-encodings-%d-v%s-%d' % (n, version[0], round), table.select(sorted(top)), compression=r.choice(codecs), data_page_version=version,
                  use_dictionary=False, column_encoding={c: e[round % len(e)] for c, e in encodings.items()}, row_group_size=r.choice([n // 2 + 1, 100000]),
                  data_page_size=r.choice([1, 300, 1 << 20]))

def tree(depth):
    """A random type and what makes values of it."""
    what = r.randrange(9 if depth < 5 else 5)
    if what == 0: return pa.int64(), lambda: r.randrange(-50, 50)
    if what == 1: return pa.string(), lambda: r.choice(words)
    if what == 2: return pa.float64(), lambda: r.random()
    if what == 3: return pa.bool_(), lambda: r.random() < 0.5
    if what == 4: return pa.int32(), lambda: r.randrange(-2**31, 2**31)
    if what in (5, 6):
        t, make = tree(depth + 1)
        hollow = r.random() * 0.4
        return pa.list_(t), lambda: [None if r.random() < hollow else make() for _ in range(r.choice([0, 0, 1, 2, 5]))]
    if what == 7:
        t, make = tree(depth + 1)
        return pa.map_(pa.string(), t), lambda: [('k%d' % k, None if r.random() < 0.2 else make()) for k in range(r.randrange(3))]
    parts = [('f%d' % i, *tree(depth + 1)) for i in range(r.randrange(1, 4))]
    return pa.struct([(name, t) for name, t, _ in parts]), lambda: {name: None if r.random() < 0.2 else make() for name, _, make in parts}

def forest(n):
    columns = {}
    for i in range(6):
        t, make = tree(0)
        nulls = r.choice([0, 0.1, 0.6])
        columns['c%d' % i] = pa.array([None if r.random() < nulls else make() for _ in range(n)], t)
    return pa.table(columns)

for round in range(24):
    n = r.choice([1, 10, 100, 500, 2000])
    write('arrow-nested-%d' % round, forest(n), compression=r.choice(codecs), data_page_version=r.choice(['1.0', '2.0']), use_dictionary=r.random() < 0.5,
          row_group_size=r.choice([n // 3 + 1, 100000]), data_page_size=r.choice([1, 100, 1 << 20]), dictionary_pagesize_limit=r.choice([10, 1 << 20]))

def with_duckdb():
    import duckdb
    db = duckdb.connect()
    known = [c for c in flat(1).column_names if c not in ('none', 'h', 'ms', 'ns', 't32', 't64n')]
    for n in [0, 1, 100, 129, 5000]:
        t = flat(n).select(known)
        nested = forest(n)
        for version in ['v1', 'v2']:
            for codec in ['uncompressed', 'snappy', 'gzip', 'brotli', 'zstd', 'lz4', 'lz4_raw'] if n in (100, 5000) else ['snappy']:
                for what, source in [('flat', t), ('nested', nested)]:
                    name = 'duckdb-%s-%s-%s-%d' % (what, version, codec, n)
                    db.register('source', source)
                    db.execute("COPY (SELECT * FROM source) TO '%s' (FORMAT parquet, PARQUET_VERSION %s, COMPRESSION %s, ROW_GROUP_SIZE 2048%s)" % (
                        os.path.join(folder, name + '.parquet'), version, codec, r.choice([', DICTIONARY_SIZE_LIMIT 1', ''])))
                    try:
                        expect(name)
                    except OSError:  # differences wider than the type
                        expect(name, db.sql("SELECT * FROM '%s'" % os.path.join(folder, name + '.parquet')).to_arrow_table())

def with_polars():
    import polars
    for n in [0, 1, 100, 5000]:
        frames = {'flat': flat(n).select([c for c in flat(1).column_names if c not in ('m', 'h', 't32')]), 'nested': None}
        while frames['nested'] is None:
            t = forest(n)
            if 'map' not in str(t.schema): frames['nested'] = t
        for what, t in frames.items():
            for codec in ['uncompressed', 'snappy', 'gzip', 'brotli', 'zstd', 'lz4'] if n >= 100 else ['zstd']:
                name = 'polars-%s-%s-%d' % (what, codec, n)
                polars.from_arrow(t).write_parquet(os.path.join(folder, name + '.parquet'), compression=codec, row_group_size=r.choice([max(n // 3, 1), 100000]),
                                                   data_page_size=r.choice([1000, 1 << 20]))
                expect(name)

def with_clickhouse():
    import chdb
    for n in [0, 1, 100, 1000, 20000]:
        for codec in ['none', 'snappy', 'gzip', 'brotli', 'zstd', 'lz4']:
            for own in [0, 1]:
                name = 'clickhouse-%s-%d-%d' % (codec, own, n)
                chdb.query("""SELECT number AS k, toInt32(number * 7919 %% 1000 - 500) AS i, toNullable(if(number %% 3 = 0, NULL, number)) AS n, toString(number) AS s,
                    toLowCardinality(toString(number %% 10)) AS few, number / 4 AS d, toFloat32(number / 8) AS f, number %% 2 = 0 AS b, toDate32('2020-01-01') + number %% 1000 AS day,
                    toDateTime64(number * 1000.5, 3, 'UTC') AS at, range(number %% 5) AS l, map('a', number, 'b', number + 1) AS m, (number, toString(number)) AS o,
                    toDecimal64(number, 3) AS dec FROM numbers(%d) INTO OUTFILE '%s' FORMAT Parquet SETTINGS output_format_parquet_compression_method = '%s',
                    output_format_parquet_use_custom_encoder = %d, output_format_parquet_row_group_size = 7000, output_format_parquet_data_page_size = %d,
                    output_format_parquet_string_as_string = 1""" % (n, os.path.join(folder, name + '.parquet'), codec, own, r.choice([1000, 1 << 20])))
                if os.path.exists(os.path.join(folder, name + '.parquet')): expect(name)

for writer in [with_duckdb, with_polars, with_clickhouse]:
    before = written
    try:
        writer()
    except ImportError as e:
        print('without: %s' % e)
        continue
    print('%s: %d files' % (writer.__name__, written - before))
