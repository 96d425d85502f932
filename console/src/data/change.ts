// Requests that change something, with the comment that the history keeps.
import { ApiError, errorOf, parse } from "../api/client";

/** Sends a change and returns the JSON of the answer, if it has one. */
export async function change<T>(method: string, path: string, body?: unknown, comment = ""): Promise<T> {
  const headers: Record<string, string> = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  // Headers are bytes: what is beyond is written as in an address.
  if (comment.trim() !== "") headers["X-Service-Comment"] = /^[\x20-\x7e]*$/.test(comment) ? comment : encodeURIComponent(comment);
  let answer: Response;
  try {
    answer = await fetch(path, { method, credentials: "same-origin", headers, body: body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body) });
  } catch {
    throw new ApiError("The server can't be reached.", 0, "");
  }
  const text = await answer.text();
  if (!answer.ok) throw errorOf(answer.status, text);
  return (text.trim() === "" ? undefined : parse(text)) as T;
}

/** Writes a part of a path. */
export function part(name: string): string {
  return encodeURIComponent(name);
}
