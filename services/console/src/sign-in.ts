import type { Clock } from '@gantry/base';
import { StatusError } from '@gantry/objects';
import { type Logger, Places } from '@gantry/service';
import express, { type Request, type RequestHandler, type Response, Router } from 'express';
import { type ApiServer, reviewToken, versionOf } from './api-server.ts';
import { LINK_MS, type OneTimeLinks } from './one-time-links.ts';
import type { Session, Sessions, SignedIn } from './sessions.ts';

export interface SignInOptions {
  readonly clusterId: string;
  readonly api: ApiServer;
  readonly sessions: Sessions;
  readonly links: OneTimeLinks;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Counts a sign-in, or an attempt that failed. */
  readonly onSignIn: (outcome: 'accepted' | 'refused') => void;
}

/** How the cookie of a session is read and written. */
export interface SessionCookie {
  read(req: Request): string | undefined;
  write(req: Request, res: Response, value: string): void;
  clear(req: Request, res: Response): void;
}

const BODY_BYTES = 32 * 1024;
/** How long the body of a sign-in may take: whoever sends it has not signed in, and holds one of the connections of all. */
const BODY_MS = 10_000;
/** Questions to the API server about tokens at the same time. */
const MAX_REVIEWS = 16;

/**
 * The cookie of the sessions of a cluster. Browsers send cookies to all ports of a host: its name has the cluster's, so that several consoles
 * of a host do not replace each other's. Two cookies of the name count as none: one of them may be of a page on another port.
 */
export function sessionCookie(clusterId: string, originOf: (req: Request) => string): SessionCookie {
  const isSecure = (req: Request) => originOf(req).startsWith('https:');
  const nameFor = (req: Request) => `${isSecure(req) ? '__Host-' : ''}gantry-session-${clusterId}`;
  const attributes = (req: Request) => `Path=/; HttpOnly; SameSite=Strict${isSecure(req) ? '; Secure' : ''}`;
  return {
    read: (req) => {
      const name = `${nameFor(req)}=`;
      const pairs = (req.headers.cookie ?? '').split(';').map((pair) => pair.trim());
      const [own, ...others] = pairs.filter((pair) => pair.startsWith(name));
      return others.length > 0 ? undefined : own?.slice(name.length);
    },
    write: (req, res, value) => void res.setHeader('set-cookie', `${nameFor(req)}=${value}; ${attributes(req)}`),
    clear: (req, res) => void res.setHeader('set-cookie', `${nameFor(req)}=; Max-Age=0; ${attributes(req)}`),
  };
}

/** `/session`: who has signed in, signing in and out; `/session/links`: one-time links. */
export function signInRoutes(options: SignInOptions, cookie: SessionCookie): Router {
  const { sessions, links, clock, logger, onSignIn } = options;
  const reviews = new Places({ max: MAX_REVIEWS, maxOfAddress: MAX_REVIEWS });
  const review = async (token: string, res: Response): Promise<SignedIn> => {
    using place = reviews.take('');
    if (place === undefined) throw new StatusError('TooManyRequests', 'too many sign-ins at the same time');
    try {
      return await reviewToken(options.api, token, clock, leftSignal(res));
    } catch (error) {
      onSignIn('refused');
      throw error;
    }
  };
  const begin = async (req: Request, res: Response, signedIn: SignedIn): Promise<void> => {
    const former = sessions.find(cookie.read(req));
    if (former !== undefined) sessions.end(former);
    const { cookie: value, session } = sessions.begin(signedIn);
    cookie.write(req, res, value);
    onSignIn('accepted');
    logger.info({ user: session.user }, 'a session has begun');
    res.json(await shown(options, session, leftSignal(res)));
  };
  const router = Router({ caseSensitive: true, strict: true });
  const inTime: RequestHandler = (req, _res, next) => {
    req.once(
      'close',
      clock.setTimer(BODY_MS, () => req.destroy()),
    );
    next();
  };
  const body = express.json({ limit: BODY_BYTES, type: 'application/json', inflate: false });
  router.get('/session', async (req, res) => {
    const session = mustFind(sessions, cookie.read(req));
    using _ = takePlace(session);
    try {
      await reviewToken(options.api, session.token, clock, leftSignal(res));
    } catch (error) {
      // While nobody answers, the page goes on with what it knows.
      if (!(error instanceof StatusError) || error.reason === 'Unauthorized') {
        sessions.end(session);
        throw error;
      }
    }
    res.json(await shown(options, session, leftSignal(res)));
  });
  router.post('/session', inTime, body, async (req, res) => {
    const given = credentialOf(req, ['token', 'code']);
    if (given.name === 'token') {
      await begin(req, res, await review(given.value, res));
      return;
    }
    const current = sessions.find(cookie.read(req));
    // Otherwise a link that another user sent would silently change who the browser acts as.
    if (current !== undefined)
      throw new StatusError('Conflict', `code: ${current.user} has signed in already in this browser; sign out first`);
    const signedIn = links.take(given.value);
    if (signedIn === undefined) {
      onSignIn('refused');
      throw StatusError.unauthorized('code: the link has been used, or is older than two minutes: npm run console');
    }
    await begin(req, res, signedIn);
  });
  router.delete('/session', (req, res) => {
    const session = mustFind(sessions, cookie.read(req));
    requireCsrf(req, session);
    sessions.end(session);
    cookie.clear(req, res);
    res.status(204).end();
  });
  router.post('/session/links', inTime, body, async (req, res) => {
    // A page must not make links: it would hand a browser the session of its choice.
    if (req.headers.origin !== undefined || req.headers['sec-fetch-site'] !== undefined)
      throw new StatusError('Forbidden', 'links are made by npm run console, not by pages');
    const code = links.add(await review(credentialOf(req, ['token']).value, res));
    res.status(201).json({ code, expiresInSeconds: LINK_MS / 1000 });
  });
  return router;
}

/** The session of a cookie. Throws StatusError Unauthorized. */
export function mustFind(sessions: Sessions, cookie: string | undefined): Session {
  const session = sessions.find(cookie);
  if (session === undefined) throw StatusError.unauthorized('sign in first: npm run console, or with a token');
  return session;
}

/** A place for a request of the session. Throws StatusError TooManyRequests. */
export function takePlace(session: Session): Disposable {
  const place = session.begin();
  if (place === undefined) throw new StatusError('TooManyRequests', 'this session has too many open requests');
  return place;
}

/** Refuses a request that changes something without the session's secret, which no other page can read. */
export function requireCsrf({ headers }: Request, { csrf }: Session): void {
  if (headers['x-csrf-token'] !== csrf)
    throw new StatusError('Forbidden', 'X-CSRF-Token: not the value that GET /session has');
}

async function shown(
  { api, clusterId }: SignInOptions,
  { user, groups, token, csrf, expiresAt }: Session,
  signal: AbortSignal,
): Promise<object> {
  let version = '';
  try {
    version = await versionOf(api, token, signal);
  } catch (error) {
    // A user may have no right to see it, and the page is useful without.
    if (!(error instanceof StatusError)) throw error;
  }
  return {
    user,
    groups,
    csrf,
    cluster: { id: clusterId, version },
    expiresAt: new Date(expiresAt).toISOString(),
  };
}

/** The only field of a body. Throws StatusError BadRequest that names the fields. */
function credentialOf({ body }: Request, names: readonly string[]): { readonly name: string; readonly value: string } {
  const fields = typeof body === 'object' && body !== null ? Object.entries(body as Record<string, unknown>) : [];
  const [[name, value] = ['', undefined], ...others] = fields;
  if (typeof value === 'string' && others.length === 0 && names.includes(name)) return { name, value };
  throw StatusError.badRequest(
    `body: not a JSON object (Content-Type: application/json) with the only field ${names.join(' or ')}, a string`,
  );
}

function leftSignal(res: Response): AbortSignal {
  const left = new AbortController();
  res.once('close', () => left.abort());
  return left.signal;
}
