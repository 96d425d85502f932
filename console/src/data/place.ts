// What a view shows of one thing is in the address: /tasks?id=..&tab=log. Links and the way back work.
import { useHashLocation } from "wouter/use-hash-location";
import { go } from "../go";

/** The parameters of the address, and a function that goes to others of the same view. */
export function usePlace(): [URLSearchParams, (params: Record<string, string | undefined>) => void] {
  const [path] = useHashLocation();
  const [view, query] = path.split("?");
  const to = (params: Record<string, string | undefined>) => go(placeOf(view ?? "/", params));
  return [new URLSearchParams(query ?? ""), to];
}

/** The address of a view with parameters; those that are undefined or empty are left out. */
export function placeOf(view: string, params: Record<string, string | undefined>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value) query.set(name, value);
  const text = query.toString();
  return text === "" ? view : `${view}?${text}`;
}
