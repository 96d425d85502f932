// Who the browser is logged in as, and the way out.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../api/client";
import { Failure, Tag } from "../ui/parts";
import type { Self } from "./data";

/**
 * Makes the browser forget a password: it keeps what it sent last for this server, and this is
 * refused. Sessions of a provider end by the request before it.
 */
function forget(): Promise<void> {
  return new Promise((done) => {
    const x = new XMLHttpRequest();
    x.open("GET", "/service-ext/access/self", true, "logged-out", "logged-out");
    x.onloadend = () => done();
    x.send();
  });
}

export function Me({ self }: { self: Self }) {
  const cache = useQueryClient();
  const [out, setOut] = useState(false);
  const attributes = Object.entries(self.attributes);
  const leave = useMutation({
    mutationFn: async () => {
      const to = await call<{ logoutUrl?: string } | undefined>("POST", "/service-ext/access/logout");
      if (to?.logoutUrl) location.assign(to.logoutUrl);
      else if (!self.logins.includes(self.authenticator)) await forget();
    },
    onSuccess: () => {
      setOut(true);
      cache.clear();
    },
  });
  if (out) {
    return (
      <div className="card row" role="status">
        <span className="grow">Logged out. A browser can keep a password until it is closed.</span>
        <button onClick={() => location.reload()}>Log in again</button>
        {self.logins.map((name) => (
          <a key={name} href={loginOf(name)}>
            Log in by {name}
          </a>
        ))}
      </div>
    );
  }
  return (
    <section className="card row" aria-label="Who you are">
      <span className="grow" style={{ overflowWrap: "anywhere" }}>
        You are <b>{self.user}</b>, known by {self.authenticator}.{" "}
        {self.roles.length === 0 ? "Without a role you have no access." : "Roles: "}
        {self.roles.map((r) => (
          <span key={r}>
            <Tag>{r}</Tag>{" "}
          </span>
        ))}
        {attributes.length > 0 && (
          <details>
            <summary className="muted">What the login says of you</summary>
            <pre>{attributes.map(([name, values]) => `${name}: ${values.join(", ")}`).join("\n")}</pre>
          </details>
        )}
      </span>
      {self.logins
        .filter((name) => name !== self.authenticator)
        .map((name) => (
          <a key={name} href={loginOf(name)}>
            Log in by {name}
          </a>
        ))}
      <button disabled={leave.isPending} onClick={() => leave.mutate()}>
        Log out
      </button>
      {leave.error && <Failure error={leave.error} />}
    </section>
  );
}

function loginOf(name: string): string {
  return `/service-ext/access/login?authenticator=${encodeURIComponent(name)}&return=/`;
}
