// The columns of a datasource, to be chosen as dimensions and measures.
import { useState, type ReactNode } from "react";
import type { Column } from "../api/sql";
import { functions, nameOf, same, type Measure } from "./sql";
import type { Chosen } from "./state";

interface PickersProps {
  dimensions: Column[];
  numbers: Column[];
  chosen: Chosen;
  change: (c: Partial<Chosen>) => void;
}

export function Pickers({ dimensions, numbers, chosen, change }: PickersProps) {
  const toggleDimension = (name: string) =>
    change({ dimensions: chosen.dimensions.includes(name) ? chosen.dimensions.filter((d) => d !== name) : [...chosen.dimensions, name] });
  const toggle = (m: Measure) => {
    const left = chosen.measures.filter((o) => !same(o, m));
    const measures = left.length < chosen.measures.length ? left : [...chosen.measures, m];
    if (measures.length > 0) change({ measures, drawn: Math.min(chosen.drawn, measures.length - 1), order: { ...chosen.order, measure: Math.min(chosen.order.measure, measures.length - 1) } });
  };
  const has = (m: Measure) => chosen.measures.some((o) => same(o, m));
  const measure = (m: Measure, text: string) => (
    <button key={text} aria-pressed={has(m)} aria-label={nameOf(m)} disabled={has(m) && chosen.measures.length === 1} onClick={() => toggle(m)}>
      {text}
    </button>
  );
  const isNumber = (c: Column) => numbers.some((n) => n.name === c.name);
  return (
    <>
      <Picker title="Dimensions" columns={dimensions}>
        {(c) => (
          <li key={c.name}>
            <button className="name" title={`${c.name}: ${c.type}`} aria-pressed={chosen.dimensions.includes(c.name)} onClick={() => toggleDimension(c.name)}>
              {c.name}
            </button>
          </li>
        )}
      </Picker>
      <Picker title="Measures" columns={[...numbers, ...dimensions.filter((c) => !isNumber(c))]} first={<li>{measure({ fn: "rows" }, "rows")}</li>}>
        {(c) => (
          <li key={c.name} style={{ flexWrap: "wrap" }}>
            <span className="name" title={`${c.name}: ${c.type}`} style={{ flexBasis: "100%" }}>
              {c.name}
            </span>
            {(isNumber(c) ? functions : (["distinct"] as const)).map((fn) => measure({ fn, column: c.name }, fn))}
          </li>
        )}
      </Picker>
    </>
  );
}

const findFrom = 8;

function Picker({ title, columns, first, children }: { title: string; columns: Column[]; first?: ReactNode; children: (c: Column) => ReactNode }) {
  const [text, setText] = useState("");
  const shown = columns.filter((c) => c.name.toLowerCase().includes(text.toLowerCase()));
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {columns.length > findFrom && (
        <input
          type="search" aria-label={`Find in ${title.toLowerCase()}`} placeholder="Find" value={text} onChange={(e) => setText(e.target.value)}
          style={{ width: "100%", minWidth: 0, marginBottom: 6 }}
        />
      )}
      <ul className="pick" tabIndex={0} aria-label={title}>
        {first}
        {shown.slice(0, 200).map(children)}
        {shown.length > 200 && <li className="muted">{shown.length - 200} more: search by name</li>}
        {shown.length === 0 && !first && <li className="muted">None</li>}
      </ul>
    </section>
  );
}
