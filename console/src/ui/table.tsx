// A table of things that the server gives all at once: sorted, filtered and paged here.
import { useMemo, useState, type ReactNode } from "react";
import { count } from "../api/format";

export interface TableColumn<T> {
  title: string;
  /** What rows are sorted and found by. */
  text?: (row: T) => string | number;
  cell: (row: T) => ReactNode;
  numeric?: boolean;
  fixed?: boolean;
}

export interface TableProps<T> {
  name: string;
  rows: readonly T[];
  columns: TableColumn<T>[];
  /** A name of a row that no other has. */
  id: (row: T) => string;
  find?: string;
  empty: ReactNode;
  actions?: ReactNode;
}

const pageSize = 50;

export function Table<T>({ name, rows, columns, id, find, empty, actions }: TableProps<T>) {
  const [text, setText] = useState("");
  const [page, setPage] = useState(0);
  const [order, setOrder] = useState<{ at: number; down: boolean }>();
  const shown = useMemo(() => {
    const wanted = text.toLowerCase();
    const found = wanted === "" ? [...rows] : rows.filter((r) => columns.some((c) => c.text && String(c.text(r)).toLowerCase().includes(wanted)));
    const by = order && columns[order.at]?.text;
    if (!by) return found;
    const sign = order.down ? -1 : 1;
    return found.sort((a, b) => {
      const [x, y] = [by(a), by(b)];
      return x === y ? 0 : x < y ? -sign : sign;
    });
  }, [rows, columns, text, order]);
  const first = Math.min(page, Math.max(0, Math.ceil(shown.length / pageSize) - 1)) * pageSize;
  const visible = shown.slice(first, first + pageSize);
  return (
    <>
      {(find || actions) && (
        <div className="row">
          {find && <input type="search" aria-label={find} placeholder={find} value={text} onChange={(e) => (setText(e.target.value), setPage(0))} />}
          <span className="grow" />
          {shown.length > pageSize && (
            <span className="row">
              <button disabled={first === 0} onClick={() => setPage(first / pageSize - 1)}>Previous</button>
              <span className="muted">
                {count(first + 1)} to {count(first + visible.length)} of {count(shown.length)}
              </span>
              <button disabled={first + pageSize >= shown.length} onClick={() => setPage(first / pageSize + 1)}>Next</button>
            </span>
          )}
          {actions}
        </div>
      )}
      {visible.length === 0 ? (
        <div className="empty">{text === "" ? empty : `Nothing matches "${text}".`}</div>
      ) : (
        <div className="scroll" tabIndex={0} role="region" aria-label={name}>
          <table className="list">
            <thead>
              <tr>
                {columns.map((c, i) => (
                  <th key={c.title} className={c.numeric ? "num" : undefined} aria-sort={order?.at === i ? (order.down ? "descending" : "ascending") : undefined}>
                    {c.text ? (
                      <button onClick={() => setOrder({ at: i, down: order?.at === i ? !order.down : !!c.numeric })}>
                        {c.title} {order?.at === i && <span aria-hidden="true">{order.down ? "↓" : "↑"}</span>}
                      </button>
                    ) : (
                      <span>{c.title}</span>
                    )}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {visible.map((r) => (
                <tr key={id(r)}>
                  {columns.map((c) => (
                    <td key={c.title} className={c.numeric ? "num" : c.fixed ? "fixed" : undefined}>{c.cell(r)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}
