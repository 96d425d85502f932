import { expect, test } from "vitest";
import { peopleOf, storesOf } from "./data";
import { linesOf, permissionsOf, summary, wrong, emptyLine } from "./permissions";

test("stores are those that keep users of their own", () => {
  expect(storesOf({
    "service.auth.authenticatorChain": '["keys","ldap","meta","sso"]',
    "service.auth.authenticator.keys.type": "keys",
    "service.auth.authenticator.ldap.type": "basic", "service.auth.authenticator.ldap.credentialsValidator.type": "ldap",
    "service.auth.authenticator.meta.type": "basic", "service.auth.authenticator.meta.credentialsValidator.type": "metadata",
    "service.auth.authenticator.sso.type": "oidc",
    "service.auth.authorizers": "az, other", "service.auth.authorizer.az.type": "basic", "service.auth.authorizer.other.type": "allowAll",
  })).toEqual({ authenticators: ["meta"], authorizers: ["az"] });
  expect(storesOf({})).toEqual({ authenticators: [], authorizers: [] });
});

test("users are those of both stores", () => {
  const { users, roles } = peopleOf(
    { ann: { name: "ann", credentials: {} }, bob: { name: "bob", credentials: null } },
    { userMap: { ann: { name: "ann", roles: ["r"] }, cy: { name: "cy", roles: [] } }, roleMap: { r: { name: "r", permissions: [] } } },
  );
  expect(users.map((u) => [u.name, u.password, u.authenticated, u.authorized])).toEqual([["ann", true, true, true], ["bob", false, true, false], ["cy", false, false, true]]);
  expect(roles).toEqual([{ name: "r", permissions: [], users: ["ann"] }]);
});

test("permissions come back as they were", () => {
  const rule = { rows: "region = 'north'", columns: { "ca\"rd": { mask: "'*'" }, note: { hide: true } } };
  const permissions = [
    { resource: { name: "orders", type: "DATASOURCE" }, action: "READ" as const, policy: rule },
    { resource: { name: "orders", type: "DATASOURCE" }, action: "WRITE" as const },
    { resource: { name: "orders", type: "DATASOURCE" }, action: "READ" as const, policy: { rows: "region = 'south'" } },
    { resource: { name: "STATE", type: "STATE" }, action: "WRITE" as const },
  ];
  const lines = linesOf(permissions);
  expect(lines).toHaveLength(3);
  expect(permissionsOf(lines)).toEqual(permissions);
  expect(summary(permissions)).toBe("READ,WRITE DATASOURCE orders (in part); READ DATASOURCE orders (in part); WRITE STATE STATE");
});

test("wrong permissions are named", () => {
  const good = { ...emptyLine, pattern: "wiki" };
  expect(wrong([good])).toBeUndefined();
  expect(wrong([emptyLine])).toContain("pattern");
  expect(wrong([{ ...good, read: false }])).toContain("allows nothing");
  expect(wrong([{ ...good, columns: [{ name: "", mask: "" }] }])).toContain("no column");
  expect(wrong([{ ...good, columns: [{ name: "a", mask: "" }, { name: "a", mask: "1" }] }])).toContain("twice");
  expect(permissionsOf([{ ...good, type: "STATE", rows: "x" }])).toEqual([{ resource: { name: "wiki", type: "STATE" }, action: "READ" }]);
});
