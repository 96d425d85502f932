// The grid of a result. Only what is seen is in the document, so that a million rows and two
// thousand columns scroll.
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { count, instant, isNumeric, isTime, json, plain } from "../api/format";
import type { Column, Row, Value } from "../api/sql";
import { copyTSV } from "./copy";
import HeadDetails, { Spark, share, type Head } from "./heads";

const rowHeight = 24;
const plainHead = 44;
const pictureHead = 64;

export interface GridProps {
  columns: Column[];
  rows: Row[];
  version: number;
  zone: string;
  /** Is called when a value is chosen to filter by. */
  filter?: (column: Column, value: Value) => void;
  /** What is known of columns without a query, by their places. */
  statistics?: (Head | undefined)[];
}

const none: (Head | undefined)[] = [];

interface Spot {
  row: number;
  column: number;
}

export function Grid({ columns, rows, version, zone, filter, statistics = none }: GridProps) {
  const scroll = useRef<HTMLDivElement>(null);
  const [order, setOrder] = useState<{ column: number; down: boolean }>();
  const [anchor, setAnchor] = useState<Spot>();
  const [focus, setFocus] = useState<Spot>();
  const [about, setAbout] = useState<number>();
  const headHeight = statistics.some((s) => s) ? pictureHead : plainHead;
  useEffect(() => (setOrder(undefined), setAnchor(undefined), setFocus(undefined), setAbout(undefined)), [columns]);

  const shown = useMemo(
    () => (order ? sorted(rows, order.column, order.down) : rows),
    // The list of rows grows in place: its version says so.
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [rows, version, order],
  );
  // Widths follow the first rows, and stay when more come.
  const sampled = Math.min(rows.length, 50);
  const widths = useMemo(() => columns.map((c, i) => widthOf(c, rows.slice(0, sampled).map((r) => r[i] ?? null), statistics[i])), [columns, sampled, statistics]);

  const vertical = useVirtualizer({ count: shown.length, getScrollElement: () => scroll.current, estimateSize: () => rowHeight, overscan: 12, scrollMargin: headHeight });
  const horizontal = useVirtualizer({ horizontal: true, count: columns.length, getScrollElement: () => scroll.current, estimateSize: (i) => widths[i]!, overscan: 4 });
  useEffect(() => horizontal.measure(), [widths, horizontal]);

  const selected = anchor && focus ? box(anchor, focus) : undefined;
  const visible = horizontal.getVirtualItems();
  const total = horizontal.getTotalSize();

  const move = (e: KeyboardEvent) => {
    if ((e.ctrlKey || e.metaKey) && e.key === "c" && selected) {
      e.preventDefault();
      const part = shown.slice(selected.top, selected.bottom + 1).map((r) => r.slice(selected.left, selected.right + 1));
      void copyTSV(selected.bottom > selected.top ? columns.slice(selected.left, selected.right + 1) : undefined, part);
      return;
    }
    const steps: Record<string, [number, number]> = {
      ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-20, 0], PageDown: [20, 0],
    };
    if (e.key === "F2" && focus && statistics[focus.column]) setAbout(focus.column);
    const step = steps[e.key];
    if (!step || shown.length === 0) return;
    e.preventDefault();
    const from = focus ?? { row: 0, column: 0 };
    const to = {
      row: Math.max(0, Math.min(shown.length - 1, from.row + step[0])),
      column: Math.max(0, Math.min(columns.length - 1, from.column + step[1])),
    };
    setFocus(to);
    if (!e.shiftKey || !anchor) setAnchor(to);
    vertical.scrollToIndex(to.row);
    horizontal.scrollToIndex(to.column);
  };

  return (
    <>
      <div
        ref={scroll} className="grid" tabIndex={0} role="grid" aria-label="Result rows"
        aria-rowcount={shown.length} aria-colcount={columns.length} onKeyDown={move}
      >
        <div className="grid-head" role="row" style={{ width: total, height: headHeight }}>
          {visible.map((c) => {
            const column = columns[c.index]!;
            const head = statistics[c.index];
            const sign = order?.column === c.index ? (order.down ? " ↓" : " ↑") : "";
            return (
              <div
                key={c.key} className={isNumeric(column.type) ? "cell num" : "cell"} role="columnheader" style={{ left: c.start, width: c.size, height: headHeight }}
                title={`${column.name}: ${column.type}`}
                aria-sort={order?.column === c.index ? (order.down ? "descending" : "ascending") : undefined}
              >
                <button
                  tabIndex={-1}
                  onClick={() => setOrder(order?.column === c.index ? (order.down ? undefined : { column: c.index, down: true }) : { column: c.index, down: false })}
                >
                  {column.name}
                  {sign}
                </button>
                <small>{column.type}{head && nulls(head)}</small>
                {head && <Spark head={head} open={() => setAbout(c.index)} />}
              </div>
            );
          })}
        </div>
        <div style={{ height: vertical.getTotalSize(), width: total }} role="rowgroup">
          {vertical.getVirtualItems().map((r) => {
            const row = shown[r.index]!;
            return (
              <div key={r.key} className="grid-row" role="row" aria-rowindex={r.index + 1} style={{ top: r.start, height: rowHeight, width: total }}>
                {visible.map((c) => {
                  const column = columns[c.index]!;
                  const value = row[c.index] ?? null;
                  const text = show(column, value, zone);
                  const isSelected = selected && r.index >= selected.top && r.index <= selected.bottom && c.index >= selected.left && c.index <= selected.right;
                  return (
                    <div
                      key={c.key} role="gridcell" title={text.length > 12 ? text.slice(0, 2000) : undefined}
                      className={`cell${isNumeric(column.type) ? " num" : ""}${value === null ? " null" : ""}${isSelected ? " selected" : ""}`}
                      style={{ left: c.start, width: c.size }}
                      onMouseDown={(e) => {
                        const spot = { row: r.index, column: c.index };
                        setFocus(spot);
                        if (!e.shiftKey || !anchor) setAnchor(spot);
                      }}
                      onMouseEnter={(e) => e.buttons === 1 && setFocus({ row: r.index, column: c.index })}
                      onDoubleClick={() => filter?.(column, value)}
                    >
                      {text.length > 500 ? text.slice(0, 500) + "…" : text}
                    </div>
                  );
                })}
              </div>
            );
          })}
        </div>
      </div>
      {about !== undefined && statistics[about] && (
        <HeadDetails
          head={statistics[about]} zone={zone} close={() => setAbout(undefined)}
          filter={filter && ((value) => (setAbout(undefined), filter(columns[about]!, value)))}
        />
      )}
      {selected && <Summary rows={shown} columns={columns} box={selected} />}
    </>
  );
}

interface Box {
  top: number;
  bottom: number;
  left: number;
  right: number;
}

function box(a: Spot, b: Spot): Box {
  return {
    top: Math.min(a.row, b.row), bottom: Math.max(a.row, b.row),
    left: Math.min(a.column, b.column), right: Math.max(a.column, b.column),
  };
}

/** Count, sum and mean of what is selected, and the whole value if it is one. */
function Summary({ rows, columns, box }: { rows: Row[]; columns: Column[]; box: Box }) {
  if (box.top === box.bottom && box.left === box.right) {
    const value = rows[box.top]?.[box.left] ?? null;
    return (
      <div className="row muted" style={{ maxHeight: 96, overflow: "auto" }}>
        <b>{columns[box.left]?.name}</b>
        <code>{value === null ? "NULL" : typeof value === "object" ? json(value) : plain(value)}</code>
      </div>
    );
  }
  const numbers: number[] = [];
  for (let r = box.top; r <= box.bottom; r++) {
    for (let c = box.left; c <= box.right; c++) {
      const v = rows[r]?.[c];
      if (typeof v === "number") numbers.push(v);
      else if (typeof v === "bigint") numbers.push(Number(v));
    }
  }
  const sum = numbers.reduce((a, b) => a + b, 0);
  const cells = (box.bottom - box.top + 1) * (box.right - box.left + 1);
  return (
    <div className="row muted">
      {count(cells)} values selected
      {numbers.length > 0 && `, sum ${Number(sum.toPrecision(15))}, mean ${Number((sum / numbers.length).toPrecision(8))}`}
    </div>
  );
}

/** Writes a value as the grid shows it. */
export function show(column: Column, value: Value, zone: string): string {
  if (value === null) return "NULL";
  if (isTime(column.type) && typeof value === "string") return instant(value, zone);
  return typeof value === "object" ? json(value) : plain(value);
}

/** Writes which share of a column is NULL, behind its type; nothing where none is. */
function nulls(head: Head): string {
  return head.of.nulls > 0 ? ` · ${share(head.of)}` : "";
}

function widthOf(column: Column, values: Value[], head?: Head): number {
  let letters = Math.max(column.name.length, (column.type.length + (head ? nulls(head).length : 0)) * 0.85);
  for (const v of values) {
    const n = v === null ? 4 : isTime(column.type) ? 23 : typeof v === "object" ? 24 : String(v).length;
    letters = Math.max(letters, n);
  }
  return Math.min(360, Math.max(64, Math.ceil(letters * 7.8) + 20));
}

/** Sorts rows by a column: numbers by size, texts by their letters, NULL last. */
export function sorted(rows: Row[], column: number, down: boolean): Row[] {
  const sign = down ? -1 : 1;
  const compare = (a: Value, b: Value): number => {
    if (typeof a === "object" || typeof b === "object") return json(a) < json(b) ? -1 : 1;
    return a === b ? 0 : a < b ? -1 : 1;
  };
  return [...rows].sort((x, y) => {
    const a = x[column] ?? null;
    const b = y[column] ?? null;
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
    return sign * compare(a, b);
  });
}
