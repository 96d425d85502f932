// What ran in this browser, with a search.
import { useEffect, useRef, useState } from "react";
import { ago, count, duration } from "../api/format";
import { history } from "./tabs";

export default function History({ take, close }: { take: (text: string) => void; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [all] = useState(history);
  useEffect(() => dialog.current?.showModal(), []);
  const found = all.filter((p) => p.text.toLowerCase().includes(text.toLowerCase()));
  return (
    <dialog ref={dialog} onClose={close} aria-label="History" style={{ width: 720 }}>
      <div className="row">
        <input autoFocus type="search" className="grow" aria-label="Find in the history" placeholder="Find in the history" value={text} onChange={(e) => setText(e.target.value)} />
        <button onClick={close}>Close</button>
      </div>
      <div className="scroll" style={{ marginTop: 8, maxHeight: "60vh" }} tabIndex={0} role="region" aria-label="Statements">
        {found.length === 0 && <div className="empty">{all.length === 0 ? "No queries yet." : "No matches."}</div>}
        <table className="list">
          <tbody>
            {found.map((p, i) => (
              <tr key={i}>
                <td>
                  <button className="plain mono" style={{ textAlign: "left" }} onClick={() => take(p.text)}>
                    {p.text.replace(/\s+/g, " ").slice(0, 300)}
                  </button>
                  <div className={p.error ? "bad" : "muted"}>{p.error ?? `${count(p.rows)} rows in ${duration(p.ms)}`}</div>
                </td>
                <td className="num muted">{ago(p.at)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </dialog>
  );
}
