-- Literals and expressions.
=select 1, 1::int2, 1::int8, 1.5, 1e3, 'a', 'a'::text, true, null, array[1,2], array['a','b'], '{1,2}'::int8[], interval '1 day', '2020-01-01'::date
=select 7 / 2, 7 % 4, 7.0 / 2, 2 ^ 3, -5, 1 + 2.5, 'a' || 'b', 'a' || 1, 1 = 1, 'a' < 'b', 1 is distinct from null, not true
=select extract(epoch from interval '1 day'), date_trunc('month', timestamp '2024-05-06 07:08:09'), timestamp '2024-05-06' + interval '1 month 1 day', date '2024-05-06' - date '2024-05-01'
=select coalesce(null, 1), nullif(1, 1), greatest(1, 2, 3), case when true then 1 else 2 end, length('abc'), substring('abc' from 2), position('b' in 'abc'), upper('a'), split_part('a.b', '.', 2)
=select array_to_string(array[1,2], ','), string_to_array('a,b', ','), array_length(array[1,2], 1), array_upper(array[1,2], 1), (array[1,2])[2], 1 = any(array[1,2]), array[1,2] @> array[1], array[1] || 2
=select count(*), sum(a), avg(a), min(a), max(a), array_agg(a order by a desc), string_agg(a::text, ',' order by a), bool_and(a > 0) from (values (1), (2)) v(a)
=select a, row_number() over (order by a desc) from (values (1), (2)) v(a) order by 1
=with recursive t(n) as (select 1 union all select n + 1 from t where n < 3) select n from t
=select g from generate_series(1, 3) g
=select quote_ident('A b'), quote_literal('a''b'), parse_ident('a.b'), format_type(23, null), format_type(1043, 14), format_type(1700, 655366)
=select 'pg_class'::regclass, 'int4'::regtype, 'pg_catalog.pg_type'::regclass::oid, 1259::regclass, 'pg_catalog'::regnamespace
=select pg_typeof(1), pg_typeof('a'::text), pg_typeof(now()), pg_typeof(array[1])
=select 1 / 0
=select nope
=select * from nope
=select nope(1)
=select 'a'::int
=selec 1
select current_database(), current_schema(), current_schemas(true), current_user, version(), now(), pg_backend_pid(), txid_current()
-- pgjdbc, asyncpg and Npgsql: types.
=select typname, typlen, typtype, typcategory, typelem, typarray, typdelim from pg_type where oid in (16, 17, 20, 21, 23, 25, 114, 700, 701, 1009, 1043, 1082, 1114, 1184, 1186, 1700, 2950, 3802) order by oid
=SELECT t.oid, t.typname, t.typinput, t.typoutput, t.typreceive::text, t.typsend::text FROM pg_type t WHERE t.typname in ('int4', 'text', '_text', 'timestamptz') ORDER BY 1
=SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname FROM pg_catalog.pg_type WHERE typname = '_int4'
=SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = '23'
SELECT ns.nspname, t.oid, t.typname, t.typtype, t.typnotnull, t.elemtypoid FROM (SELECT typ.oid, typ.typnamespace, typ.typname, typ.typtype, typ.typrelid, typ.typnotnull, typ.typrelid, elemtyp.oid AS elemtypoid FROM pg_type AS typ LEFT JOIN pg_class AS cls ON (cls.oid = typ.typrelid) LEFT JOIN pg_proc AS proc ON proc.oid = typ.typreceive LEFT JOIN pg_type AS elemtyp ON elemtyp.oid = typ.typelem WHERE typ.typtype IN ('b', 'r', 'm', 'e', 'd') OR proc.proname = 'array_recv') AS t JOIN pg_namespace AS ns ON ns.oid = t.typnamespace ORDER BY 2
SELECT pg_type.oid, enumlabel FROM pg_enum JOIN pg_type ON pg_type.oid = enumtypid ORDER BY oid, enumsortorder
SELECT typ.oid, att.attname, att.atttypid FROM pg_type AS typ JOIN pg_namespace AS ns ON ns.oid = typ.typnamespace JOIN pg_class AS cls ON cls.oid = typ.typrelid JOIN pg_attribute AS att ON att.attrelid = typ.typrelid WHERE typ.typtype = 'c' AND cls.relkind = 'c' AND att.attnum > 0 AND NOT att.attisdropped ORDER BY typ.oid, att.attnum
=SELECT rngtypid, rngsubtype FROM pg_range ORDER BY 1
-- pgjdbc: metadata.
SELECT nspname AS TABLE_SCHEM, NULL AS TABLE_CATALOG FROM pg_catalog.pg_namespace WHERE nspname <> 'pg_toast' AND (nspname !~ '^pg_temp_' OR nspname = (pg_catalog.current_schemas(true))[1]) AND (nspname !~ '^pg_toast_temp_' OR nspname = replace((pg_catalog.current_schemas(true))[1], 'pg_temp_', 'pg_toast_temp_')) ORDER BY TABLE_SCHEM
SELECT NULL AS TABLE_CAT, n.nspname AS TABLE_SCHEM, ct.relname AS TABLE_NAME, a.attname AS COLUMN_NAME, (information_schema._pg_expandarray(i.indkey)).n AS KEY_SEQ, ci.relname AS PK_NAME, information_schema._pg_expandarray(i.indkey) AS KEYS, a.attnum AS A_ATTNUM FROM pg_catalog.pg_class ct JOIN pg_catalog.pg_attribute a ON (ct.oid = a.attrelid) JOIN pg_catalog.pg_namespace n ON (ct.relnamespace = n.oid) JOIN pg_catalog.pg_index i ON (a.attrelid = i.indrelid) JOIN pg_catalog.pg_class ci ON (ci.oid = i.indexrelid) WHERE i.indisprimary AND n.nspname = 'public' AND ct.relname = 'wiki'
-- DBeaver.
SELECT db.oid, db.* FROM pg_catalog.pg_database db WHERE datname = current_database()
SELECT n.oid, n.*, d.description FROM pg_catalog.pg_namespace n LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = n.oid AND d.objsubid = 0 AND d.classoid = 'pg_namespace'::regclass ORDER BY nspname
SELECT c.oid, c.*, d.description, pg_catalog.pg_get_expr(c.relpartbound, c.oid) as partition_expr, pg_catalog.pg_get_partkeydef(c.oid) as partition_key FROM pg_catalog.pg_class c LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass WHERE c.relnamespace = 2200 AND c.relkind not in ('i','I','c')
SELECT c.relname, a.*, pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) as def_value, dsc.description, dep.objid FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON (a.attrelid = c.oid) LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid = ad.adrelid AND a.attnum = ad.adnum) LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid = dsc.objoid AND a.attnum = dsc.objsubid) LEFT OUTER JOIN pg_depend dep on dep.refobjid = a.attrelid AND dep.deptype = 'i' and dep.refobjsubid = a.attnum and dep.classid = dep.refclassid WHERE NOT a.attisdropped AND c.relkind not in ('i','I','c') AND c.oid = 1259 ORDER BY a.attnum
=SELECT word, catcode FROM pg_catalog.pg_get_keywords() WHERE word = 'select'
SELECT i.*, i.indkey as keys, c.relname, c.relnamespace, c.relam, c.reltablespace, tc.relname as tabrelname, dsc.description, pg_catalog.pg_get_expr(i.indpred, i.indrelid) as pred_expr, pg_catalog.pg_get_expr(i.indexprs, i.indrelid, true) as expr, pg_catalog.pg_relation_size(i.indexrelid) as index_rel_size, pg_catalog.pg_stat_get_numscans(i.indexrelid) as index_num_scans FROM pg_catalog.pg_index i INNER JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid INNER JOIN pg_catalog.pg_class tc ON tc.oid = i.indrelid LEFT OUTER JOIN pg_catalog.pg_description dsc ON i.indexrelid = dsc.objoid WHERE i.indrelid = 0 ORDER BY tabrelname, c.relname
SELECT c.oid, c.*, t.relname as tabrelname, rt.relnamespace as refnamespace, d.description, case when c.contype='c' then "substring"(pg_catalog.pg_get_constraintdef(c.oid), 7) else null end consrc_copy FROM pg_catalog.pg_constraint c INNER JOIN pg_catalog.pg_class t ON t.oid = c.conrelid LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid = c.confrelid LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_constraint'::regclass WHERE c.conrelid = 0 ORDER BY c.oid
-- Metabase.
WITH table_privileges AS (select NULL as role, t.schemaname as schema, t.objectname as table, pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'update') as update, pg_catalog.has_table_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'SELECT') as select from (select schemaname, tablename as objectname from pg_catalog.pg_tables union select schemaname, viewname as objectname from pg_views union select schemaname, matviewname as objectname from pg_matviews) t where t.schemaname !~ '^pg_' and t.schemaname <> 'information_schema') SELECT t.* FROM table_privileges t
SELECT n.nspname AS schema, c.relname AS name, CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'v' THEN 'VIEW' END AS type, d.description AS description, stat.n_live_tup AS estimated_row_count FROM pg_catalog.pg_class AS c INNER JOIN pg_catalog.pg_namespace AS n ON c.relnamespace = n.oid LEFT JOIN pg_catalog.pg_description AS d ON ((c.oid = d.objoid) AND (d.objsubid = 0) AND (d.classoid = 'pg_class'::regclass)) LEFT JOIN pg_stat_user_tables AS stat ON ((n.nspname = stat.schemaname) AND (c.relname = stat.relname)) WHERE (c.relnamespace = n.oid) AND (n.nspname !~ '^information_schema|catalog_history|pg_') AND c.relkind IN ('r', 'p', 'v', 'f', 'm') ORDER BY type ASC, schema ASC, name ASC
-- Grafana.
=select current_setting('server_version_num')::int/10000 as version
select quote_ident(table_name) as "table" from information_schema.tables where quote_ident(table_schema) not in ('information_schema', 'pg_catalog') and case when array_length(parse_ident('a.wiki'), 1) = 2 then quote_ident(table_schema) = (parse_ident('a.wiki'))[1] else quote_ident(table_schema) in (select case when trim(s[i]) = '"$user"' then user else trim(s[i]) end from generate_series(array_lower(string_to_array(current_setting('search_path'),','),1), array_upper(string_to_array(current_setting('search_path'),','),1)) as i, string_to_array(current_setting('search_path'),',') s) end
-- psqlODBC and Excel.
select ta.attname, ia.attnum, ic.relname, n.nspname, tc.relname from pg_catalog.pg_attribute ta, pg_catalog.pg_attribute ia, pg_catalog.pg_class tc, pg_catalog.pg_index i, pg_catalog.pg_namespace n, pg_catalog.pg_class ic where tc.relname = 'wiki' AND n.nspname = 'public' AND tc.oid = i.indrelid AND n.oid = tc.relnamespace AND i.indisprimary = 't' AND ia.attrelid = i.indexrelid AND ta.attrelid = i.indrelid AND ta.attnum = i.indkey[ia.attnum-1] AND (NOT ta.attisdropped) AND (NOT ia.attisdropped) AND ic.oid = i.indexrelid order by ia.attnum
-- Whole tables, with every column.
select * from pg_class limit 0
select * from pg_attribute limit 0
select * from pg_proc limit 0
select * from pg_settings limit 0
select * from pg_stat_activity limit 0
select * from pg_roles limit 0
select * from pg_user limit 0
select * from pg_index limit 0
select * from pg_constraint limit 0
select * from pg_policy limit 0
select * from pg_statistic_ext limit 0
select * from pg_publication limit 0
select * from pg_trigger limit 0
select * from pg_sequence limit 0
select * from pg_extension limit 0
select * from pg_inherits limit 0
select * from information_schema.columns limit 0
select * from information_schema.tables limit 0
select * from information_schema.key_column_usage limit 0
select * from information_schema.table_constraints limit 0
