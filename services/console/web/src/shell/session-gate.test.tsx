// @vitest-environment happy-dom
import { ManualClock } from '@gantry/base/testing';
import { QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query';
import { act, cleanup, configure, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { type ReactNode, use } from 'react';
import { afterEach, expect, it, vi } from 'vitest';
import { useConsole } from './console-context.ts';
import { SessionGate } from './session-gate.tsx';
import { SignOutContext } from './sign-out.ts';

// The default of one second is shorter than the time until a request is sent again.
configure({ asyncUtilTimeout: 30_000 });

/** Reads something of the user who is signed in. */
function Reader(): ReactNode {
  const { api, stale } = useConsole();
  const signOut = use(SignOutContext);
  const { data, isError } = useQuery({
    queryKey: ['secret'],
    queryFn: async () => (await api.json<{ readonly text: string }>('/secret')).text,
    staleTime: 60_000,
  });
  return (
    <button type="button" onClick={signOut}>
      {[data ?? (isError ? 'failed' : 'reading'), ...stale].join(' ')}
    </button>
  );
}

/** A console whose sessions are those of the tokens that somebody signs in with. `secret` is what the API server answers to a user. */
function serve(secret: (user: string) => Response | Promise<Response>) {
  let user = 'jane';
  vi.stubGlobal('fetch', async (path: string, { method = 'GET', body }: { method?: string; body?: string } = {}) => {
    if (path === '/session' && method === 'DELETE') user = '';
    else if (path === '/session' && method === 'POST') user = (JSON.parse(body ?? '{}') as { token: string }).token;
    if (path === '/session')
      return user === ''
        ? new Response('', { status: 401 })
        : Response.json({ user, groups: [], csrf: user, cluster: { id: 'test', version: '' } });
    if (path === '/kubernetes/secret') return await secret(user);
    return Response.json({ items: [] });
  });
}

function openPage(clock?: ManualClock) {
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  render(
    <QueryClientProvider client={queries}>
      <SessionGate {...(clock === undefined ? {} : { clock })}>
        <Reader />
      </SessionGate>
    </QueryClientProvider>,
  );
  return queries;
}

async function signInAs(token: string) {
  fireEvent.change(await screen.findByLabelText('Token of a ServiceAccount'), { target: { value: token } });
  fireEvent.click(screen.getByRole('button', { name: 'Sign in' }));
}

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

it('shows the next user nothing of what the last one has read', async () => {
  const { promise, resolve } = Promise.withResolvers<Response>();
  serve((user) => (user === 'jane' ? Response.json({ text: 'secret of jane' }) : promise));
  openPage();
  fireEvent.click(await screen.findByText('secret of jane'));
  await signInAs('joe');
  await screen.findByText('reading');
  expect(screen.queryByText('secret of jane')).toBeNull();
  await act(async () => resolve(Response.json({ text: 'secret of joe' })));
  await screen.findByText('secret of joe');
});

it('keeps the present session when a request of the last one is answered late that it has ended', async () => {
  const late = Promise.withResolvers<Response>();
  serve((user) => (user === 'jane' ? late.promise : Response.json({ text: 'secret of joe' })));
  const queries = openPage();
  fireEvent.click(await screen.findByText('reading'));
  await signInAs('joe');
  await screen.findByText('secret of joe');
  const handled = Promise.withResolvers<void>();
  const text = () => {
    handled.resolve();
    return Promise.resolve('');
  };
  late.resolve(Object.assign(new Response('', { status: 401 }), { text }));
  await handled.promise;
  expect(queries.getQueryData(['session'])).toMatchObject({ user: 'joe' });
});

/** Lets the first request for each path of the page itself fail as one does when the network changes. Returns what was asked. */
function loseFirstRequests(): readonly string[] {
  const { fetch } = globalThis;
  const asked: string[] = [];
  vi.stubGlobal('fetch', async (path: string, options?: RequestInit) => {
    const isLost = !asked.includes(path) && path !== '/kubernetes/secret';
    asked.push(path);
    if (isLost) throw new TypeError('Failed to fetch');
    return fetch(path, options);
  });
  return asked;
}

it('asks for the session and for the kinds again after the network has changed', async () => {
  serve(() => Response.json({ text: 'secret of jane' }));
  loseFirstRequests();
  openPage();
  await screen.findByText('Loading the session … Failed to fetch; trying again');
  await screen.findByText('Loading the kinds of the server … Failed to fetch; trying again');
  await screen.findByText('secret of jane');
});

/** Leaves the first request for each path that `hangs` without a response, until the page gives it up. Returns what was asked. */
function hangFirstRequests(hangs: (path: string, method: string) => boolean): readonly string[] {
  const { fetch } = globalThis;
  const asked: string[] = [];
  vi.stubGlobal('fetch', async (path: string, options: RequestInit = {}) => {
    const { method = 'GET', signal } = options;
    const request = `${method} ${path}`;
    const isFirst = !asked.includes(request);
    asked.push(request);
    if (!isFirst || !hangs(path, method)) return fetch(path, options);
    return new Promise<Response>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
  });
  return asked;
}

it.each(['/session', '/kubernetes/api', '/kubernetes/apis'])(
  'asks again for %s, which nobody answers',
  async (path) => {
    const clock = new ManualClock();
    serve(() => Response.json({ text: 'secret of jane' }));
    const asked = hangFirstRequests((each) => each === path);
    openPage(clock);
    await waitFor(() => expect(asked).toContain(`GET ${path}`));
    await clock.advance(25_000);
    await screen.findByText('secret of jane');
  },
);

it('gives up a sign-in that nobody answers, so that a person may try again', async () => {
  const clock = new ManualClock();
  serve(() => Response.json({ text: 'secret of jane' }));
  const asked = hangFirstRequests((path, method) => path === '/session' && method === 'POST');
  await fetch('/session', { method: 'DELETE' });
  openPage(clock);
  await signInAs('joe');
  await waitFor(() => expect(asked).toContain('POST /session'));
  await clock.advance(25_000);
  await screen.findByRole('alert');
  fireEvent.click(screen.getByRole('button', { name: 'Sign in' }));
  await screen.findByText('secret of jane');
});

it('ends a read whose response does not come', async () => {
  const clock = new ManualClock();
  serve(() => Response.json({ text: 'secret of jane' }));
  const asked = hangFirstRequests((path) => path === '/kubernetes/secret');
  openPage(clock);
  await waitFor(() => expect(asked).toContain('GET /kubernetes/secret'));
  await clock.advance(65_000);
  await screen.findByText('failed');
});

it('tells pages of which API versions the server does not respond', async () => {
  serve(() => Response.json({ text: 'secret of jane' }));
  const { fetch } = globalThis;
  const items = [{ metadata: { name: 'metrics.k8s.io' }, versions: [{ version: 'v1beta1', freshness: 'Stale' }] }];
  vi.stubGlobal('fetch', async (path: string, options?: RequestInit) =>
    path === '/kubernetes/apis' ? Response.json({ items }) : fetch(path, options),
  );
  openPage();
  await screen.findByText('secret of jane metrics.k8s.io/v1beta1');
});

it('asks who has not signed in to do so, and asks the server no second time', async () => {
  serve(() => Response.json({}));
  await fetch('/session', { method: 'DELETE' });
  const asked = loseFirstRequests();
  openPage();
  await screen.findByLabelText('Token of a ServiceAccount');
  expect(asked).toEqual(['/session', '/session']);
});
