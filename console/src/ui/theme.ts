// Whether the page is dark, for what draws by itself and has to draw again.
import { useSyncExternalStore } from "react";

function follow(changed: () => void): () => void {
  const seen = new MutationObserver(changed);
  seen.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => seen.disconnect();
}

export function useDark(): boolean {
  return useSyncExternalStore(follow, () => document.documentElement.dataset.theme === "dark");
}
