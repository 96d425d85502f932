import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// `npm run dev` asks a server on this machine; the built console asks where it came from.
const server = process.env.HENGE_URL ?? "http://localhost:8888";

export default defineConfig({
  logLevel: "warn",
  plugins: [react()],
  build: { outDir: "dist", assetsInlineLimit: 0, chunkSizeWarningLimit: 1000, modulePreload: { polyfill: false } },
  server: { proxy: { "/service": server, "/status": server, "/proxy": server } },
});
