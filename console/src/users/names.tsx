// A list of names that others can be added to and taken from.
import { useId, useState } from "react";

export function Names({ label, names, offered, add, remove, busy }: {
  label: string;
  names: string[];
  /** What can be added. */
  offered: string[];
  add: (name: string) => void;
  remove: (name: string) => void;
  busy?: boolean;
}) {
  const [text, setText] = useState("");
  const list = useId();
  const left = offered.filter((n) => !names.includes(n));
  const can = left.includes(text) && !busy;
  const take = () => {
    if (!can) return;
    add(text);
    setText("");
  };
  return (
    <div className="stack" style={{ gap: 8 }} role="group" aria-label={label}>
      <div className="row">
        {names.length === 0 && <span className="muted">None</span>}
        {names.map((n) => (
          <span className="chip" key={n}>
            <span style={{ padding: "2px 0 2px 10px", overflowWrap: "anywhere" }}>{n}</span>
            <button type="button" aria-label={`Remove ${n}`} disabled={busy} onClick={() => remove(n)}>
              ×
            </button>
          </span>
        ))}
      </div>
      <div className="row">
        <input
          aria-label={`${label}: name`} placeholder={left.length === 0 ? "There is no other" : "Name"} list={list} value={text} onChange={(e) => setText(e.target.value)}
          onKeyDown={(e) => e.key === "Enter" && (e.preventDefault(), take())}
        />
        <datalist id={list}>
          {left.map((n) => (
            <option key={n} value={n} />
          ))}
        </datalist>
        <button type="button" disabled={!can} onClick={take}>
          Add
        </button>
      </div>
    </div>
  );
}
