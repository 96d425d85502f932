// Explore: dimensions and measures of a datasource by clicking. Each step is a statement.
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Link, useSearch } from "wouter";
import { useHashLocation } from "wouter/use-hash-location";
import { isNumeric } from "../api/format";
import { ident, literal, select, type Column } from "../api/sql";
import { rowsOf } from "../explore/ask";
import { Pickers } from "../explore/pickers";
import { nothing, read, resolve, write, type Chosen } from "../explore/state";
import { Steps } from "../explore/steps";
import { go } from "../go";
import { named } from "../ui/named";
import { Failure, Skeleton, View } from "../ui/parts";

const tablesQuery = "SELECT TABLE_NAME AS \"name\" FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = 'service' ORDER BY 1 LIMIT 5000";

/** What is chosen, as the address says: each choice is a step that the browser goes back from. */
function useChosen(): [Chosen, (c: Chosen) => void] {
  const [path] = useHashLocation();
  const search = useSearch();
  const params = new URLSearchParams(path.split("?")[1] ?? search);
  const text = params.get("q");
  const named = params.get("datasource");
  const chosen = useMemo(() => (text === null && named !== null ? { ...nothing, datasource: named } : read(text)), [text, named]);
  const choose = (c: Chosen) => go(`/explore?q=${encodeURIComponent(write(c))}`);
  return [chosen, choose];
}

export default function Explore() {
  const [chosen, choose] = useChosen();
  const tables = useQuery({ queryKey: ["explore", "tables"], queryFn: ({ signal }) => select<{ name: string }>(tablesQuery, signal), staleTime: 30_000 });
  const datasource = chosen.datasource ?? tables.data?.[0]?.name;
  const change = (c: Partial<Chosen>) => choose({ ...chosen, datasource, ...c });
  return (
    <View
      title="Explore"
      actions={
        tables.data && tables.data.length > 0 && (
          <label className="row">
            Datasource{" "}
            <select value={datasource} onChange={(e) => choose({ ...nothing, datasource: e.target.value })} style={{ maxWidth: 320 }}>
              {datasource !== undefined && !tables.data.some((t) => t.name === datasource) && <option>{datasource}</option>}
              {tables.data.map((t) => (
                <option key={t.name}>{t.name}</option>
              ))}
            </select>
          </label>
        )
      }
    >
      {tables.error && <Failure error={tables.error} retry={() => void tables.refetch()} />}
      {tables.isPending && <Skeleton lines={8} />}
      {tables.data && datasource === undefined && (
        <div className="empty">
          No datasources yet. <Link href="/load">Load a file</Link>
        </div>
      )}
      {datasource !== undefined && <Datasource key={datasource} name={datasource} chosen={chosen} change={change} />}
    </View>
  );
}

/** Whether rows can be grouped by a column. */
function isDimension(c: Column): boolean {
  return c.name !== "__time" && !/^(ARRAY|COMPLEX|OTHER)/.test(c.type);
}

function Datasource({ name, chosen, change }: { name: string; chosen: Chosen; change: (c: Partial<Chosen>) => void }) {
  const columns = useQuery({
    queryKey: ["explore", "columns", name],
    queryFn: ({ signal }) =>
      select<Column>(`SELECT COLUMN_NAME AS "name", DATA_TYPE AS "type" FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA = 'service' AND TABLE_NAME = ${literal(name)} ORDER BY ORDINAL_POSITION LIMIT 5000`, signal),
    staleTime: 30_000,
  });
  const bounds = useQuery({
    queryKey: ["explore", "bounds", name],
    queryFn: ({ signal }) => rowsOf(`SELECT MIN("__time"), MAX("__time") FROM ${ident(name)}`, signal),
    staleTime: 30_000,
  });
  const [first, last] = (bounds.data?.rows[0] ?? []).map((v) => (v === null ? NaN : Date.parse(String(v))));
  const range = useMemo(
    () => (first === undefined || last === undefined || Number.isNaN(first) ? undefined : resolve(chosen.range, first, last)),
    [chosen.range, first, last],
  );
  const failed = columns.error ?? bounds.error;
  if (failed) return <Failure error={named(failed, `READ DATASOURCE ${name}`)} retry={() => (void columns.refetch(), void bounds.refetch())} />;
  if (!columns.data || bounds.isPending) return <Skeleton lines={8} />;
  if (!range) {
    return (
      <div className="empty">
        {name} has no rows. <Link href="/load">Load a file</Link>
      </div>
    );
  }
  const dimensions = columns.data.filter(isDimension);
  const e = {
    datasource: name, range, compare: chosen.compare, measures: chosen.measures, filters: chosen.filters,
    dimensions: chosen.dimensions.flatMap((d) => dimensions.filter((c) => c.name === d)),
  };
  return (
    <div className="side">
      <aside className="stack" aria-label="Columns">
        <Pickers dimensions={dimensions} numbers={columns.data.filter((c) => isNumeric(c.type))} chosen={chosen} change={change} />
      </aside>
      <Steps e={e} chosen={chosen} change={change} />
    </div>
  );
}
