// The views in the order of the navigation. All but Query are loaded when they are opened.
import { lazy, type ComponentType } from "react";
import QueryView from "../query/view";

export interface ViewEntry {
  path: string;
  name: string;
  component: ComponentType;
  /** What the path may be, if not only the one of the navigation. */
  route?: RegExp;
}

const entry = (name: string, component: ComponentType): ViewEntry => ({ path: `/${name.toLowerCase()}`, name, component });

export const views: ViewEntry[] = [
  { path: "/", name: "Home", component: lazy(() => import("./home").then((m) => ({ default: m.Home }))) },
  { ...entry("Query", QueryView), route: /^\/(?:query|q\/[^/]+)$/ },
  entry("Explore", lazy(() => import("./explore"))),
  entry("Load", lazy(() => import("./load"))),
  entry("Datasources", lazy(() => import("./datasources"))),
  entry("Segments", lazy(() => import("./segments"))),
  entry("Supervisors", lazy(() => import("./supervisors"))),
  entry("Tasks", lazy(() => import("./tasks"))),
  entry("Services", lazy(() => import("./services"))),
  entry("Lookups", lazy(() => import("./lookups"))),
  entry("Users", lazy(() => import("./users"))),
  entry("API", lazy(() => import("./api"))),
];
