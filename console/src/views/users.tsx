// Users: who may do what, as whom things look, keys of programs, and what was done.
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { useSearch } from "wouter";
import { useHashLocation } from "wouter/use-hash-location";
import { Failure, Skeleton, View } from "../ui/parts";
import { Panel, Tabs } from "../ui/tabs";
import { readPeople, readStores, useSelf, type Self, type Stores } from "../users/data";
import { go } from "../go";
import { named } from "../ui/named";
import { Me } from "../users/me";

const Users = lazy(() => import("../users/people"));
const Roles = lazy(() => import("../users/roles"));
const Groups = lazy(() => import("../users/groups"));
const ViewAs = lazy(() => import("../users/viewas"));
const Keys = lazy(() => import("../users/keys"));
const Audit = lazy(() => import("../users/audit"));

export default function UsersView() {
  const self = useSelf();
  return (
    <View title="Users">
      {self.error && <Failure error={self.error} retry={() => void self.refetch()} />}
      {self.isPending && <Skeleton lines={6} />}
      {self.data && (self.data.secured ? <Secured self={self.data} /> : <Open />)}
    </View>
  );
}

const settings = `service.extensions.loadList=["service-basic-security"]
service.auth.authenticatorChain=["keys","meta"]
service.auth.authenticator.keys.type=keys
service.auth.authenticator.keys.authorizerName=az
service.auth.authenticator.meta.type=basic
service.auth.authenticator.meta.authorizerName=az
service.auth.authenticator.meta.initialAdminPassword={"type":"environment","variable":"ADMIN_PASSWORD"}
service.auth.authenticator.meta.initialInternalClientPassword={"type":"environment","variable":"INTERNAL_PASSWORD"}
service.auth.authorizers=["az"]
service.auth.authorizer.az.type=basic
service.escalator.type=basic
service.escalator.internalClientUsername=service_system
service.escalator.internalClientPassword={"type":"environment","variable":"INTERNAL_PASSWORD"}
service.escalator.authorizerName=az`;

/** What stands here while everybody may do everything. */
function Open() {
  return (
    <section className="card stack">
      <h2>Security is off: anyone who can reach a port has full access</h2>
      <p style={{ margin: 0 }}>
        One process: <code>henge server --secure</code> creates a certificate and a password for <code>admin</code>, takes API keys, and prints how to log in.
      </p>
      <p style={{ margin: 0 }}>A cluster, or without TLS: give all processes these settings, and the two passwords in their environment. docs/security.md explains each setting.</p>
      <pre className="code" tabIndex={0} aria-label="Settings">{settings}</pre>
      <div className="row">
        <button onClick={() => void navigator.clipboard.writeText(settings)}>Copy</button>
      </div>
    </section>
  );
}

const tabs = ["Users", "Roles", "Groups", "View as", "API keys", "Audit"] as const;
type Tab = (typeof tabs)[number];

/** Whose access is looked at, to what. */
export interface Subject {
  user?: string;
  roles?: string[];
  dataSource?: string;
}

function Secured({ self }: { self: Self }) {
  const [path] = useHashLocation();
  const search = useSearch();
  const wanted = new URLSearchParams(path.split("?")[1] ?? search).get("tab");
  const at: Tab = tabs.find((t) => t === wanted) ?? "Users";
  const [subject, setSubject] = useState<Subject>({});
  const choose = (t: Tab) => go(`/users?tab=${encodeURIComponent(t)}`);
  const look = (s: Subject) => {
    setSubject(s);
    choose("View as");
  };
  const stores = useQuery({ queryKey: ["users", "stores"], queryFn: ({ signal }) => readStores(self, signal), staleTime: 60_000 });
  return (
    <>
      <Me self={self} />
      <Tabs label="Parts of security" tabs={tabs} at={at} choose={choose} />
      <Panel label={at}>
        <Suspense fallback={<Skeleton lines={6} />}>
          {stores.error && <Failure error={stores.error} retry={() => void stores.refetch()} />}
          {at === "API keys" ? <Keys /> : at === "Audit" ? <Audit /> : stores.data && <Kept at={at} self={self} stores={stores.data} subject={subject} look={look} />}
        </Suspense>
      </Panel>
    </>
  );
}

function Kept({ at, self, stores, subject, look }: { at: Tab; self: Self; stores: Stores; subject: Subject; look: (s: Subject) => void }) {
  const [authenticator, setAuthenticator] = useState(() => (stores.authenticators.includes(self.authenticator) ? self.authenticator : stores.authenticators[0]));
  const [authorizer, setAuthorizer] = useState(() => (stores.authorizers.includes(self.authorizer) ? self.authorizer : stores.authorizers[0]));
  const people = useQuery({
    queryKey: ["users", "people", authenticator, authorizer],
    queryFn: ({ signal }) => readPeople(stores, authenticator, authorizer ?? "", signal),
    enabled: authorizer !== undefined,
  });
  if (authorizer === undefined) {
    return <div className="empty">No authorizer of type basic is configured: roles are not stored here.</div>;
  }
  const db = { authenticator, authorizer };
  return (
    <>
      {(stores.authenticators.length > 1 || stores.authorizers.length > 1) && (
        <div className="row">
          <Choice label="Passwords of" names={stores.authenticators} at={authenticator} choose={setAuthenticator} />
          <Choice label="Roles of" names={stores.authorizers} at={authorizer} choose={setAuthorizer} />
        </div>
      )}
      {people.error && <Failure error={named(people.error, "READ CONFIG security")} retry={() => void people.refetch()} />}
      {people.isPending && <Skeleton lines={6} />}
      {people.data && at === "Users" && <Users people={people.data} db={db} self={self} look={look} />}
      {people.data && at === "Roles" && <Roles people={people.data} db={db} look={look} />}
      {people.data && at === "Groups" && <Groups people={people.data} db={db} />}
      {people.data && at === "View as" && <ViewAs people={people.data} subject={subject} />}
    </>
  );
}

function Choice({ label, names, at, choose }: { label: string; names: string[]; at: string | undefined; choose: (name: string) => void }) {
  return (
    <label className="row">
      {label}{" "}
      <select value={at} onChange={(e) => choose(e.target.value)}>
        {names.map((n) => (
          <option key={n}>{n}</option>
        ))}
      </select>
    </label>
  );
}
