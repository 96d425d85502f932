// A table of things that the server keeps: sorted, filtered and paged by the server, so that it
// stays fast with hundreds of thousands of them.
import { useQuery, keepPreviousData } from "@tanstack/react-query";
import { useDeferredValue, useState, type ReactNode } from "react";
import { count } from "../api/format";
import { literal, select } from "../api/sql";
import { Failure, Skeleton } from "./parts";

/** A column of a list. Its name is that of the column of the query, too. */
export interface ListColumn<T> {
  name: string;
  title: string;
  numeric?: boolean;
  /** Its values stay on one line. */
  fixed?: boolean;
  cell?: (row: T) => ReactNode;
}

export interface ListProps<T> {
  /** A name of the list, the key of what is cached. */
  name: string;
  /** A query whose rows are listed: all its columns are there for the cells. */
  from: string;
  columns: ListColumn<T>[];
  /** The column that the text of the filter is looked for in. */
  filter: string;
  filterLabel: string;
  order: { column: string; down: boolean };
  empty: ReactNode;
  /** How often the list is read again, in milliseconds. */
  every?: number;
}

const pageSize = 50;

/** Writes the query of a page: one row more than is shown tells whether there is another page. */
export function pageQuery(from: string, filter: string, text: string, order: { column: string; down: boolean }, page: number): string {
  const where = text === "" ? "" : ` WHERE POSITION(LOWER(${literal(text)}) IN LOWER("${filter}")) > 0`;
  const direction = order.down ? " DESC" : "";
  return `SELECT * FROM (${from})${where} ORDER BY "${order.column}"${direction} LIMIT ${pageSize + 1} OFFSET ${page * pageSize}`;
}

export function List<T extends object>({ name, from, columns, filter, filterLabel, order: first, empty, every }: ListProps<T>) {
  const [text, setText] = useState("");
  const [page, setPage] = useState(0);
  const [order, setOrder] = useState(first);
  const wanted = useDeferredValue(text);
  const query = pageQuery(from, filter, wanted, order, page);
  const rows = useQuery({
    queryKey: ["list", name, query],
    queryFn: ({ signal }) => select<T>(query, signal),
    placeholderData: keepPreviousData,
    refetchInterval: every,
  });
  const shown = rows.data?.slice(0, pageSize) ?? [];
  const more = (rows.data?.length ?? 0) > pageSize;
  return (
    <>
      <div className="row">
        <input
          type="search"
          aria-label={filterLabel}
          placeholder={filterLabel}
          value={text}
          onChange={(e) => (setText(e.target.value), setPage(0))}
        />
        <span className="grow" />
        {(page > 0 || more) && (
          <span className="row">
            <button disabled={page === 0} onClick={() => setPage(page - 1)}>
              Previous
            </button>
            <span className="muted">
              {count(page * pageSize + 1)} to {count(page * pageSize + shown.length)}
            </span>
            <button disabled={!more} onClick={() => setPage(page + 1)}>
              Next
            </button>
          </span>
        )}
      </div>
      {rows.error && <Failure error={rows.error} retry={() => void rows.refetch()} />}
      {rows.isPending && <Skeleton lines={8} />}
      {rows.data &&
        (shown.length === 0 ? (
          <div className="empty">{text === "" ? empty : `Nothing matches "${text}".`}</div>
        ) : (
          <div className="scroll" tabIndex={0} role="region" aria-label={name}>
            <table className="list">
              <thead>
                <tr>
                  {columns.map((c) => (
                    <th
                      key={c.name}
                      className={c.numeric ? "num" : undefined}
                      aria-sort={order.column === c.name ? (order.down ? "descending" : "ascending") : undefined}
                    >
                      <button onClick={() => (setOrder({ column: c.name, down: order.column === c.name ? !order.down : !!c.numeric }), setPage(0))}>
                        {c.title} {order.column === c.name && <span aria-hidden="true">{order.down ? "↓" : "↑"}</span>}
                      </button>
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {shown.map((row, i) => (
                  <tr key={i}>
                    {columns.map((c) => (
                      <td key={c.name} className={c.numeric ? "num" : c.fixed ? "fixed" : undefined}>
                        {c.cell ? c.cell(row) : cellText(row[c.name as keyof T])}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        ))}
    </>
  );
}

function cellText(v: unknown): ReactNode {
  if (v === null || v === undefined) return <span className="muted">NULL</span>;
  if (typeof v === "number" || typeof v === "bigint") return count(v);
  return String(v);
}
