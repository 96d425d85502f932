// Users, roles and permissions of the authenticators and authorizers of type basic.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ask } from "../api/ask";
import { ApiError, type Answer } from "../api/client";
import type { Schemas } from "../api/types";

export type Self = Schemas["Self"];
export type ResourceAction = Schemas["ResourceAction"];
export type AccessRule = Schemas["AccessRule"];
export type Limits = Schemas["Limits"];
export type Key = Schemas["APIKey"];

/** Users and roles are kept by the Coordinator that leads. */
export const under = "/proxy/coordinator";

/** The names of what keeps passwords, and of what keeps roles. */
export interface Stores {
  authenticators: string[];
  authorizers: string[];
}

export function useSelf() {
  return useQuery({ queryKey: ["users", "self"], queryFn: ({ signal }) => ask("GET /service-ext/access/self", {}, signal) });
}

/** Reads which authenticators and authorizers keep users of their own. */
export async function readStores(self: Self, signal?: AbortSignal): Promise<Stores> {
  try {
    return storesOf(await ask("GET /status/properties", {}, signal));
  } catch (e) {
    // Who may not read settings knows at least by what they came in.
    if (e instanceof ApiError && e.forbidden) return { authenticators: [self.authenticator], authorizers: [self.authorizer] };
    throw e;
  }
}

function listOf(text: string | undefined): string[] {
  try {
    const list = JSON.parse(text ?? "[]") as unknown;
    return Array.isArray(list) ? list.filter((v) => typeof v === "string") : [];
  } catch {
    return (text ?? "").split(",").map((v) => v.trim()).filter((v) => v !== "");
  }
}

export function storesOf(properties: Record<string, string>): Stores {
  const at = (kind: string, name: string, rest: string) => properties[`service.auth.${kind}.${name}.${rest}`];
  return {
    authenticators: listOf(properties["service.auth.authenticatorChain"]).filter(
      (n) => at("authenticator", n, "type") === "basic" && (at("authenticator", n, "credentialsValidator.type") ?? "metadata") === "metadata",
    ),
    authorizers: listOf(properties["service.auth.authorizers"]).filter((n) => at("authorizer", n, "type") === "basic"),
  };
}

export interface User {
  name: string;
  /** Whether the authenticator knows a password. */
  password: boolean;
  /** Whether the authenticator, the authorizer have an entry. */
  authenticated: boolean;
  authorized: boolean;
  roles: string[];
}

export interface Role {
  name: string;
  permissions: ResourceAction[];
  users: string[];
}

export interface People {
  users: User[];
  roles: Role[];
}

type Known = Answer<"GET /service-ext/basic-security/authentication/db/{name}/cachedSerializedUserMap">;
type Maps = Answer<"GET /service-ext/basic-security/authorization/db/{name}/cachedSerializedUserMap">;

/** Reads all users and roles, in one request for each store. */
export async function readPeople(s: Stores, authenticator: string | undefined, authorizer: string, signal?: AbortSignal): Promise<People> {
  const knows = authenticator !== undefined && s.authenticators.includes(authenticator);
  const [known, maps] = await Promise.all([
    knows ? ask("GET /service-ext/basic-security/authentication/db/{name}/cachedSerializedUserMap", { under, path: { name: authenticator } }, signal) : ({} as Known),
    ask("GET /service-ext/basic-security/authorization/db/{name}/cachedSerializedUserMap", { under, path: { name: authorizer } }, signal),
  ]);
  return peopleOf((known as Known | undefined) ?? {}, maps as Maps);
}

/** The names of roles, which may come with all they are. */
export function namesOf(roles: readonly (string | { name: string })[]): string[] {
  return roles.map((r) => (typeof r === "string" ? r : r.name));
}

export function peopleOf(known: Known, { userMap, roleMap }: Maps): People {
  const names = [...new Set([...Object.keys(known), ...Object.keys(userMap)])].sort();
  const users = names.map((name) => ({
    name, password: !!known[name]?.credentials, authenticated: name in known, authorized: name in userMap, roles: namesOf(userMap[name]?.roles ?? []),
  }));
  const roles = Object.values(roleMap)
    .map((r) => ({
      name: r.name, permissions: r.permissions.map((p) => ("resourceAction" in p ? p.resourceAction : p)),
      users: users.filter((u) => u.roles.includes(r.name)).map((u) => u.name),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  return { users, roles };
}

/** Changes something, and reads anew what is shown. */
export function useChange(done?: () => void) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (act: () => Promise<unknown>) => act(),
    onSuccess: () => {
      void cache.invalidateQueries({ queryKey: ["users"] });
      done?.();
    },
  });
}
