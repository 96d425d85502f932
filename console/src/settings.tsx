// What a person chooses: theme and time zone. It is kept in the browser.
import { createContext, useContext, useEffect, useMemo, useState, type ReactNode } from "react";

export type Theme = "system" | "light" | "dark";

export interface Settings {
  theme: Theme;
  zone: string;
  setTheme(theme: Theme): void;
  setZone(zone: string): void;
}

const Chosen = createContext<Settings | null>(null);

/** Reads a value that was kept. A browser that keeps nothing gives the fallback. */
export function kept(key: string, fallback: string): string {
  try {
    return localStorage.getItem("henge." + key) ?? fallback;
  } catch {
    return fallback;
  }
}

/** Keeps a value, if the browser keeps any. */
export function keep(key: string, value: string): void {
  try {
    localStorage.setItem("henge." + key, value);
  } catch {
    // Private windows and full stores: the choice lasts as long as the page.
  }
}

export function SettingsProvider({ children }: { children: ReactNode }) {
  const [theme, setTheme] = useState<Theme>(() => kept("theme", "system") as Theme);
  const [zone, setZone] = useState(() => kept("zone", "UTC"));
  const [systemDark, setSystemDark] = useState(() => matchMedia("(prefers-color-scheme: dark)").matches);
  useEffect(() => {
    const media = matchMedia("(prefers-color-scheme: dark)");
    const follow = () => setSystemDark(media.matches);
    media.addEventListener("change", follow);
    return () => media.removeEventListener("change", follow);
  }, []);
  const dark = theme === "dark" || (theme === "system" && systemDark);
  useEffect(() => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
  }, [dark]);
  const value = useMemo(
    () => ({
      theme,
      zone,
      setTheme: (t: Theme) => (keep("theme", t), setTheme(t)),
      setZone: (z: string) => (keep("zone", z), setZone(z)),
    }),
    [theme, zone],
  );
  return <Chosen value={value}>{children}</Chosen>;
}

export function useSettings(): Settings {
  const s = useContext(Chosen);
  if (!s) throw new Error("no settings");
  return s;
}
