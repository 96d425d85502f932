// What is said while nobody is logged in, and the ways in.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { ApiError, call } from "../api/client";

/** Whether there is a provider of OpenID Connect: without one its endpoints are not found. */
async function hasProvider(signal: AbortSignal): Promise<boolean> {
  try {
    await call("GET", "/service-ext/access/device", undefined, signal);
    return true;
  } catch (e) {
    if (e instanceof ApiError && e.status === 404) return false;
    throw e;
  }
}

export default function Login() {
  const cache = useQueryClient();
  const provider = useQuery({ queryKey: ["provider"], queryFn: ({ signal }) => hasProvider(signal), staleTime: Infinity });
  return (
    <div className="banner" role="alert">
      You are not logged in, or your session has expired.{" "}
      {provider.data ? (
        <a href={`/service-ext/access/login?return=${encodeURIComponent("/")}`}>Log in</a>
      ) : (
        <button onClick={() => void cache.invalidateQueries()}>Log in with user and password</button>
      )}
    </div>
  );
}
