import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** The console's service, for `npx vite web`: pages from the sources, data from a running cluster. */
const SERVICE = process.env['GANTRY_CONSOLE_ORIGIN'] ?? 'http://127.0.0.1:8700';

export default defineConfig({
  plugins: [react()],
  resolve: { conditions: ['gantry-source', 'module', 'browser', 'development|production'] },
  build: {
    target: 'es2023',
    // No inlined files: the Content-Security-Policy allows no `data:` URLs.
    assetsInlineLimit: 0,
    // One style sheet, with the page: Vite does not ask again for that of a part whose first request failed.
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 2000,
  },
  server: { proxy: { '/session': SERVICE, '/gantry': SERVICE, '/kubernetes': { target: SERVICE, ws: true } } },
});
