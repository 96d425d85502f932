/** Goes to a view. What follows a question mark stays in the hash, so that a link can be opened elsewhere. */
export function go(to: string): void {
  history.pushState(null, "", `${location.pathname}#${to}`);
  dispatchEvent(new HashChangeEvent("hashchange"));
}
