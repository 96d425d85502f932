SELECT c.oid, n.nspname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relname OPERATOR(pg_catalog.~) '^(t)$' COLLATE pg_catalog.default AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 2, 3
select (i.keys).n, information_schema._pg_expandarray(x) as k from a.b i where a[1:2] = any(array[1,2]) and not b ~* 'x' is not null
SELECT 'x'::regclass, E'a\n', $$b$$, $q$c$$d$q$, interval '1 day' + now(), extract(epoch from x), timestamp with time zone '2020-01-01', $1::int8[] FROM generate_series(1, 2) with ordinality g(x, n)
begin; declare "SQL_CUR1" cursor with hold for select 1; fetch 2048 in "SQL_CUR1"; close "SQL_CUR1"; commit
SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED; show timezone; set henge.useCache = false; SET extra_float_digits = 3; SET TIME ZONE 'UTC'; set names 'utf8'
COPY (select 1) TO STDOUT WITH (FORMAT csv, HEADER, DELIMITER ';'); COPY t FROM STDIN; copy t(a,b) to stdout binary
WITH RECURSIVE a(b) AS (SELECT 1 UNION ALL (SELECT b + 1 FROM a LIMIT 1)) SELECT DISTINCT ON (x, y) *, t.* FROM (a JOIN c USING (d)) , LATERAL (SELECT 1) q(z) WHERE (a, b) IN ((1, 2)) GROUP BY 1 HAVING count(*) FILTER (WHERE x) > 1 WINDOW w AS (PARTITION BY a ORDER BY b)
select row_number() over (partition by a order by b desc nulls last rows between unbounded preceding and current row), sum(x) over w, percentile_cont(0.5) within group (order by x), array_agg(distinct a order by b) from t a full outer join b on a.x = b.x cross join c natural join d fetch first 3 rows only for update
prepare p(int, text) as select $1, $2; execute p(1, 'a'); deallocate all; discard all; listen x; explain (analyze, format json) select 1
select case when a then b else c end, cast(a as double precision), a at time zone 'UTC', substring(a from 1 for 2), trim(both ' ' from x), position('a' in b), a between symmetric 1 and 2, a not ilike 'x' escape '\', b is not distinct from c, ((select 1) union select 2)
select - - 1, a <> all(select 1), "A""b" from only public.t /* a /* b */ c */ -- d
select 1 a, 2 as select, b year from t tablesample
;;
