// The command palette: views and datasources by a few letters.
import { useQuery } from "@tanstack/react-query";
import { useEffect, useId, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";
import { select, ident } from "../api/sql";
import { views } from "../views";

interface Command {
  name: string;
  hint: string;
  to: string;
}

/** Whether the letters of a text stand in a name in their order. */
export function matches(name: string, letters: string): boolean {
  let from = 0;
  for (const c of letters.toLowerCase()) {
    const at = name.toLowerCase().indexOf(c, from);
    if (at < 0) return false;
    from = at + 1;
  }
  return true;
}

export default function Palette({ close }: { close: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [, go] = useLocation();
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useId();
  useEffect(() => dialog.current?.showModal(), []);
  const tables = useQuery({
    queryKey: ["palette"],
    queryFn: ({ signal }) =>
      select<{ name: string }>("SELECT TABLE_NAME AS name FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = 'service' ORDER BY 1 LIMIT 1000", signal),
  });
  const found = useMemo(() => {
    const commands: Command[] = views.map((v) => ({ name: v.name, hint: "view", to: v.path }));
    for (const { name } of tables.data ?? []) {
      commands.push({ name, hint: "query", to: `/query?sql=${encodeURIComponent(`SELECT * FROM ${ident(name)} LIMIT 100`)}` });
      commands.push({ name, hint: "explore", to: `/explore?datasource=${encodeURIComponent(name)}` });
    }
    return commands.filter((c) => matches(c.name, text)).slice(0, 50);
  }, [tables.data, text]);
  const chosen = Math.min(at, found.length - 1);
  const take = (c: Command | undefined) => {
    if (!c) return;
    go(c.to);
    close();
  };
  return (
    <dialog ref={dialog} className="palette" onClose={close} aria-label="Go to">
      <input
        autoFocus
        role="combobox"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={chosen >= 0 ? `${list}-${chosen}` : undefined}
        aria-label="A view or a datasource"
        placeholder="A view or a datasource"
        value={text}
        onChange={(e) => (setText(e.target.value), setAt(0))}
        onKeyDown={(e) => {
          if (e.key === "ArrowDown") setAt(Math.min(chosen + 1, found.length - 1));
          else if (e.key === "ArrowUp") setAt(Math.max(chosen - 1, 0));
          else if (e.key === "Enter") take(found[chosen]);
          else return;
          e.preventDefault();
        }}
      />
      <ul id={list} role="listbox" aria-label="Found">
        {found.map((c, i) => (
          <li key={c.to} id={`${list}-${i}`} role="option" aria-selected={i === chosen} onMouseMove={() => setAt(i)} onClick={() => take(c)}>
            {c.name} <span className="muted">{c.hint}</span>
          </li>
        ))}
      </ul>
    </dialog>
  );
}
