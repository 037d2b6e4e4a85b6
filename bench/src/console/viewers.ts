import { request } from 'node:https';
import type { HttpClient, HttpTarget } from '@gantry/client';
import { deadline } from '../cluster.ts';

/** What the watches of one viewer are about: those of the views of a cluster and of some objects. */
const WATCHED = [
  '/api/v1/pods',
  '/api/v1/nodes',
  '/api/v1/services',
  '/api/v1/configmaps',
  '/apis/apps/v1/deployments',
  '/apis/apps/v1/replicasets',
];

/** Open watches, whose events are discarded. */
export interface Watches extends Disposable {
  readonly count: number;
  /** How many the server has ended: these cost nothing any more. */
  readonly ended: number;
}

/** The session of a browser. */
interface SignedIn {
  readonly cookie: string;
}

/** Signs in at a console with a token. */
async function signIn(origin: string, token: string): Promise<SignedIn> {
  const response = await fetch(`${origin}/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin },
    body: JSON.stringify({ token }),
    signal: deadline(),
  });
  if (!response.ok)
    throw new Error(`the console at ${origin} refused the token: ${response.status} ${await response.text()}`);
  const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';');
  return { cookie };
}

/** Opens the watches of so many viewers as the page does: as WebSockets of the console, each viewer with a session. */
export async function watchThroughConsole(
  api: HttpClient,
  { origin, token, viewers }: { readonly origin: string; readonly token: string; readonly viewers: number },
): Promise<Watches> {
  const paths = await pathsToWatch(api);
  const sockets: WebSocket[] = [];
  const state = { ended: 0 };
  for (let viewer = 0; viewer < viewers; viewer++) {
    const { cookie } = await signIn(origin, token);
    for (const path of paths) {
      const socket = new WebSocket(`${origin.replace('http', 'ws')}/kubernetes${path}`, {
        headers: { cookie, origin },
      });
      sockets.push(socket);
      await new Promise((resolve, reject) => {
        socket.addEventListener('open', resolve);
        socket.addEventListener('error', () => reject(new Error(`the console opened no watch of ${path}`)));
      });
      socket.addEventListener('close', () => state.ended++);
    }
  }
  return {
    count: sockets.length,
    get ended() {
      return state.ended;
    },
    [Symbol.dispose]: () => {
      for (const socket of sockets) socket.close();
    },
  };
}

/** Opens the same watches at the API server, as kubectl does. */
export async function watchDirectly(
  api: HttpClient,
  { target, token, viewers }: { readonly target: HttpTarget; readonly token: string; readonly viewers: number },
): Promise<Watches> {
  const paths = await pathsToWatch(api);
  const stop = new AbortController();
  const state = { ended: 0 };
  const all = Array.from({ length: viewers }, () => paths).flat();
  await Promise.all(
    all.map(
      (path) =>
        new Promise<void>((resolve, reject) => {
          const asked = request(`${target.server}${path}`, {
            ca: target.ca,
            servername: target.serverName,
            agent: false,
            headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
            signal: stop.signal,
          });
          asked.on('error', reject);
          asked.on('response', (response) => {
            response.resume();
            response.on('error', () => undefined);
            response.on('close', () => state.ended++);
            if (response.statusCode === 200) resolve();
            else reject(new Error(`${path}: ${response.statusCode}`));
          });
          asked.end();
        }),
    ),
  );
  return {
    count: all.length,
    get ended() {
      return state.ended;
    },
    [Symbol.dispose]: () => stop.abort(),
  };
}

/** Watches from now on. */
async function pathsToWatch(api: HttpClient): Promise<readonly string[]> {
  return await Promise.all(
    WATCHED.map(async (path) => {
      const text = await api.raw({ method: 'GET', path: `${path}?limit=1` }, deadline());
      const { metadata } = JSON.parse(text) as { readonly metadata: { readonly resourceVersion: string } };
      return `${path}?watch=1&allowWatchBookmarks=true&resourceVersion=${metadata.resourceVersion}`;
    }),
  );
}
