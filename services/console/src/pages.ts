import { existsSync } from 'node:fs';
import { join, sep } from 'node:path';
import compression from 'compression';
import express, { type Request, Router } from 'express';
import { pagePolicy } from './guard.ts';

const NOT_BUILT = 'The front end of the console is not built here: npm run -w @gantry/console build:web\n';
/** Files whose names change with their content. */
const ASSETS = `${sep}assets${sep}`;

/**
 * Serves the built front end: its files, and its page for each other path, since each view of it has an address. While there is none, says
 * how to build it.
 */
export function pageRoutes(webDir: string, originOf: (req: Request) => string): Router {
  const router = Router();
  const index = join(webDir, 'index.html');
  router.use((req, res, next) => {
    res.setHeader('content-security-policy', pagePolicy(originOf(req)));
    res.setHeader('cache-control', 'no-cache');
    if (req.method === 'GET' || req.method === 'HEAD') next();
    else res.status(405).setHeader('allow', 'GET, HEAD').type('text/plain').send('method not allowed\n');
  });
  router.use(compression());
  router.use(
    express.static(webDir, {
      index: false,
      redirect: false,
      setHeaders: (res, path) => {
        if (path.slice(webDir.length).startsWith(ASSETS))
          res.setHeader('cache-control', 'public, max-age=31536000, immutable');
      },
    }),
  );
  router.use('/assets', (_req, res) => void res.status(404).type('text/plain').send('not found\n'));
  router.use((_req, res, next) => {
    if (!existsSync(index)) res.status(503).type('text/plain').send(NOT_BUILT);
    else res.sendFile('index.html', { root: webDir, cacheControl: false }, (error) => error && next(error));
  });
  return router;
}
