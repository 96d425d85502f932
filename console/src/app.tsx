// The frame around the views: navigation, banner, palette.
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useState } from "react";
import { Link, Route, Router, Switch } from "wouter";
import { useHashLocation } from "wouter/use-hash-location";
import { ApiError, call, type Answer } from "./api/client";
import { go } from "./go";
import { Skeleton } from "./ui/parts";
import { useSettings, type Theme } from "./settings";
import { views } from "./views";

const loadPalette = () => import("./ui/palette");
const Palette = lazy(loadPalette);
const Login = lazy(() => import("./ui/login"));

/** The path of a view without what follows a question mark. */
function useViewLocation(): [string, (to: string) => void] {
  const [path] = useHashLocation();
  return [path.split("?")[0] ?? "/", go];
}
useViewLocation.hrefs = (to: string) => `#${to}`;

export function App() {
  const [paletteOpen, setPaletteOpen] = useState(false);
  const status = useQuery({
    queryKey: ["status"],
    queryFn: ({ signal }) => call<Answer<"GET /status">>("GET", "/status", undefined, signal),
    refetchInterval: 10_000,
  });
  // A page that was loaded from another version of the server may ask for what is gone.
  const [first, setFirst] = useState<string>();
  useEffect(() => {
    if (status.data && first === undefined) setFirst(status.data.version);
  }, [status.data, first]);
  useEffect(() => {
    const timer = setTimeout(() => void loadPalette(), 500); // it is there when it is wanted
    return () => clearTimeout(timer);
  }, []);
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "k") {
        e.preventDefault();
        setPaletteOpen((open) => !open);
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const banner = bannerOf(status.error, status.data?.version, first);
  return (
    <Router hook={useViewLocation}>
      <div className={banner ? "frame framed" : "frame"}>
        <header className="top">
          <Link href="/" className="brand">
            <img src="/favicon.svg" width="20" height="20" alt="" />
            Henge
          </Link>
          <span className="muted wide">{status.data?.version}</span>
          <span className="grow" />
          <button className="plain" onClick={() => setPaletteOpen(true)}>
            Go to <kbd>Ctrl K</kbd>
          </button>
          <Zone />
          <ThemeChoice />
        </header>
        {banner}
        <nav className="nav" aria-label="Views">
          <Navigation />
        </nav>
        <main className="main">
          <Suspense fallback={<div className="view"><Skeleton lines={6} /></div>}>
            <Switch>
              {views.map((v) => (
                <Route key={v.path} path={v.route ?? v.path} component={v.component} />
              ))}
              <Route>
                <div className="empty">
                  This view does not exist. <Link href="/">Home</Link>
                </div>
              </Route>
            </Switch>
          </Suspense>
        </main>
      </div>
      {paletteOpen && (
        <Suspense>
          <Palette close={() => setPaletteOpen(false)} />
        </Suspense>
      )}
    </Router>
  );
}

function Navigation() {
  const [path] = useViewLocation();
  useEffect(() => void document.querySelector(".nav [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" }), [path]);
  return views.map((v) => (
    <Link key={v.path} href={v.path} aria-current={path === v.path ? "page" : undefined}>
      {v.name}
    </Link>
  ));
}

function bannerOf(error: Error | null, version: string | undefined, first: string | undefined) {
  if (error instanceof ApiError && error.away) {
    return (
      <div className="banner" role="alert">
        The server can't be reached. It is asked again every ten seconds; nothing you typed is lost.
      </div>
    );
  }
  if (error instanceof ApiError && error.unauthenticated) {
    return (
      <Suspense>
        <Login />
      </Suspense>
    );
  }
  if (version && first && version !== first) {
    return (
      <div className="banner" role="status">
        The server is now of version {version}. <button onClick={() => location.reload()}>Reload</button>
      </div>
    );
  }
  return null;
}

function Zone() {
  const { zone, setZone } = useSettings();
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <label className="wide">
      <span className="sr">Time zone</span>
      <select value={zone} onChange={(e) => setZone(e.target.value)}>
        <option value="UTC">UTC</option>
        {own !== "UTC" && <option value={own}>{own}</option>}
      </select>
    </label>
  );
}

function ThemeChoice() {
  const { theme, setTheme } = useSettings();
  return (
    <label>
      <span className="sr">Theme</span>
      <select value={theme} onChange={(e) => setTheme(e.target.value as Theme)}>
        <option value="system">System</option>
        <option value="light">Light</option>
        <option value="dark">Dark</option>
      </select>
    </label>
  );
}
