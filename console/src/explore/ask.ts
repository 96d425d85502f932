// Statements of the view. One that is superseded ends on the server, too.
import { ApiError } from "../api/client";
import { cancel, newQueryId, run, type Column, type Row } from "../api/sql";

export interface Answer {
  columns: Column[];
  rows: Row[];
}

/** No group or step beyond it is read: what asks for more has been asked wrongly. */
const rowLimit = 20_000;

export async function rowsOf(sql: string, signal: AbortSignal): Promise<Answer> {
  const id = newQueryId();
  const out: Answer = { columns: [], rows: [] };
  const stop = () => void cancel(id);
  signal.addEventListener("abort", stop);
  try {
    await run(sql, { sqlQueryId: id }, {
      columns: (c) => (out.columns = c),
      rows: (rows) => {
        for (const r of rows) out.rows.push(r);
        if (out.rows.length > rowLimit) throw new ApiError(`The result has more than ${rowLimit} rows.`, 400, "");
      },
    }, signal);
  } finally {
    signal.removeEventListener("abort", stop);
  }
  return out;
}
