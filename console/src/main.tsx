import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError } from "./api/client";
import { App } from "./app";
import { SettingsProvider } from "./settings";
import "./style.css";

const client = new QueryClient({
  defaultOptions: {
    queries: {
      // What the server refuses stays refused; what it can't answer now is asked for again.
      retry: (tries, error) => error instanceof ApiError && error.away && tries < 3,
      refetchOnWindowFocus: false,
      staleTime: 5_000,
    },
  },
});

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <SettingsProvider>
        <App />
      </SettingsProvider>
    </QueryClientProvider>
  </StrictMode>,
);
