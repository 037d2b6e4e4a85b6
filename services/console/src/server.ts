import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { anySignal, errorMessage, must } from '@gantry/base';
import { StatusError } from '@gantry/objects';
import type { GroupMember, Logger } from '@gantry/service';
import { offerUpgrade, upgradeOf } from '@gantry/streams';
import express, { type ErrorRequestHandler, type Express, type Request, type Response } from 'express';
import { COMMON_HEADERS, isSafe, originFor, refuseEmbedding, refuseForeign } from './guard.ts';
import { pageRoutes } from './pages.ts';
import { passOn, targetOf } from './pass-on.ts';
import { mustFind, requireCsrf, sessionCookie, takePlace, type SignInOptions, signInRoutes } from './sign-in.ts';

export interface ConsoleServerOptions extends SignInOptions {
  readonly origins: readonly string[];
  readonly webDir: string;
  /** Reports a request that was answered. */
  readonly onAnswer: (code: number) => void;
  /** Reports that a request or stream for the API server begins (1) or ends (-1). */
  readonly onOpen: (change: 1 | -1) => void;
}

const PREFIX = '/kubernetes';
const HEADER_BYTES = 32 * 1024;
const MAX_HEADERS = 100;
const MAX_CONNECTIONS = 1024;
const HEADERS_MS = 10_000;
const REQUEST_MS = 300_000;
const KEEP_ALIVE_MS = 75_000;

/** The console's HTTP server. `stopping` ends all streams. */
export function createConsoleServer(options: ConsoleServerOptions, stopping: AbortSignal): Server {
  const app = createApp(options, stopping);
  const server = createServer({
    maxHeaderSize: HEADER_BYTES,
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
  server.maxHeadersCount = MAX_HEADERS;
  server.maxConnections = MAX_CONNECTIONS;
  server.on('request', app);
  server.on('upgrade', (req, socket: Socket, head) => {
    // The connection may fail at any time; whoever reads it sees its end.
    socket.on('error', () => socket.destroy());
    app(req, offerUpgrade(req, socket, head));
  });
  return server;
}

/** Runs the server at an address. It stops listening when it drains, and ends its streams. */
export function serverMember(
  server: Server,
  address: { readonly host: string; readonly port: number },
  stop: AbortController,
): GroupMember {
  return {
    name: 'console-server',
    run: (signal) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.once('close', () => resolve());
        signal.addEventListener('abort', () => {
          server.close();
          server.closeAllConnections();
        });
        server.listen(address.port, address.host);
      }),
    drain: async () => {
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      stop.abort();
      server.closeIdleConnections();
      await closed;
    },
  };
}

function createApp(options: ConsoleServerOptions, stopping: AbortSignal): Express {
  const { origins, webDir, onAnswer, logger } = options;
  const app = express();
  app.disable('x-powered-by');
  app.set('query parser', false);
  const originOf = (req: Request): string => must(originFor(req.headers.host, origins), 'a host that was checked');
  const cookie = sessionCookie(options.clusterId, originOf);
  app.use((req, res, next) => {
    for (const [name, value] of Object.entries(COMMON_HEADERS)) res.setHeader(name, value);
    res.once('close', () => onAnswer(res.statusCode));
    if (originFor(req.headers.host, origins) !== undefined) next();
    else res.status(421).type('text/plain').send('Host: not a name of this console (GANTRY_CONSOLE_ORIGINS)\n');
  });
  app.use(['/session', PREFIX], (req, res, next) => {
    res.setHeader('cache-control', 'no-store');
    refuseForeign(req, originOf(req));
    next();
  });
  app.use(async (req, res, next) => {
    const target = targetOf(req.originalUrl, PREFIX);
    if (target !== undefined) await serveApi(options, { req, res, target, cookie: cookie.read(req), stopping });
    else if (upgradeOf(req) === undefined) next();
    else throw StatusError.badRequest('Upgrade: only requests for the API server switch the protocol');
  });
  app.use(signInRoutes(options, cookie));
  app.use(['/session', PREFIX], () => {
    throw new StatusError('NotFound', 'there is no such path');
  });
  app.use(pageRoutes(webDir, originOf));
  app.use(failureHandler(logger));
  return app;
}

interface Asked {
  readonly req: Request;
  readonly res: Response;
  readonly target: string;
  readonly cookie: string | undefined;
  readonly stopping: AbortSignal;
}

/** Serves a request below `/kubernetes`, as the user of its session. */
async function serveApi(options: ConsoleServerOptions, { req, res, target, cookie, stopping }: Asked): Promise<void> {
  refuseEmbedding(req);
  const session = mustFind(options.sessions, cookie);
  if (upgradeOf(req) !== undefined) {
    // Browsers send the cookie with WebSockets of every page of this host, without a preflight request.
    if (req.headers.origin === undefined) throw new StatusError('Forbidden', 'Origin: missing');
  }
  // Also with an upgrade, which the API server is free to ignore.
  if (!isSafe(req.method)) requireCsrf(req, session);
  using _ = takePlace(session);
  const left = new AbortController();
  res.once('close', () => left.abort());
  using signal = anySignal(session.signal, stopping, left.signal);
  options.onOpen(1);
  try {
    await passOn({ req, res, api: options.api, target, token: session.token, signal });
  } finally {
    options.onOpen(-1);
  }
}

/** Responds with a Status, as the API server does. */
function failureHandler(logger: Logger): ErrorRequestHandler {
  return (error: unknown, _req, res, next) => {
    if (res.headersSent || res.destroyed) {
      next(error);
      return;
    }
    const failure = failureOf(error);
    if (failure.code === 500) logger.error({ err: error }, 'a request failed');
    res.status(failure.code).json(failure.toStatus());
  };
}

function failureOf(error: unknown): StatusError {
  if (error instanceof StatusError) return error;
  // Errors of Express: of a path that cannot be decoded, of a body that is too large or no JSON.
  const code = error instanceof Error && 'status' in error && typeof error.status === 'number' ? error.status : 500;
  if (code >= 500) return StatusError.internal('the console failed; its log says why');
  return new StatusError(code === 413 ? 'RequestEntityTooLarge' : 'BadRequest', errorMessage(error), { code });
}
