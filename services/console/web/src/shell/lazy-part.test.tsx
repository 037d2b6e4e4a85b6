// @vitest-environment happy-dom
import { act, cleanup, configure, render, screen, waitFor } from '@testing-library/react';
import { Component, type ReactNode, Suspense } from 'react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { lazyPart } from './lazy-part.ts';

// The default of one second is shorter than the time until the server is asked again.
configure({ asyncUtilTimeout: 30_000 });

const MISSING = 'Failed to fetch dynamically imported module: http://console/assets/part.js';

class Boundary extends Component<{ readonly children: ReactNode }> {
  override readonly state: { readonly error?: Error } = {};
  static getDerivedStateFromError = (error: Error) => ({ error });
  override render = () => this.state.error?.message ?? this.props.children;
}

/** Shows a part whose file is loaded by `load`, on a page whose server is `server`. */
async function show(
  load: () => Promise<{ Part: () => ReactNode }>,
  server: (path: string, request: RequestInit) => Promise<Response>,
) {
  vi.stubGlobal('fetch', vi.fn(server));
  const Part = lazyPart(load, 'Part');
  // Without this, React does not continue what waits for a promise of its own.
  await act(async () => {
    render(
      <Boundary>
        <Suspense fallback="loading">
          <Part />
        </Suspense>
      </Boundary>,
    );
  });
}

const loaded = { Part: () => 'the part' };
const reload = vi.fn();
const reported = vi.fn();

beforeEach(() => {
  reload.mockReset();
  reported.mockReset();
  vi.stubGlobal('sessionStorage', window.sessionStorage);
  vi.spyOn(window.location, 'reload').mockImplementation(reload);
  // React reports what a boundary catches.
  vi.spyOn(console, 'error').mockImplementation(reported);
});

afterEach(() => {
  cleanup();
  sessionStorage.clear();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

it('is shown without a warning of React, also when the page has changed meanwhile', async () => {
  const file = Promise.withResolvers<typeof loaded>();
  const Part = lazyPart(() => file.promise, 'Part');
  const part = (
    <Suspense fallback="loading">
      <Part />
    </Suspense>
  );
  const page = (before: string) => (
    <div>
      {part}
      {before}
    </div>
  );
  const { rerender } = await act(async () => render(page('one')));
  await act(async () => rerender(page('two')));
  await act(async () => file.resolve(loaded));
  await screen.findByText(/the part/);
  expect(reported).not.toHaveBeenCalled();
});

it('is asked for again when the network is back, and not before', async () => {
  let isBack = false;
  const load = vi.fn(async () => {
    if (!isBack) throw new TypeError(MISSING);
    return loaded;
  });
  const server = vi.fn(async () => {
    if (server.mock.calls.length === 1) throw new TypeError('Failed to fetch');
    isBack = true;
    return new Response();
  });
  await show(load, server);
  await screen.findByText('the part');
  expect([server.mock.calls.length, load.mock.calls.length, reload.mock.calls.length]).toEqual([2, 2, 0]);
});

it('is asked for again after a request that nobody responded to in time', async () => {
  const deadline = new AbortController();
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(deadline.signal);
  const load = vi.fn(async () => Promise.reject<typeof loaded>(new TypeError(MISSING)));
  const server = vi.fn(async (_path: string, { signal }: RequestInit) => {
    if (signal !== deadline.signal) return new Response();
    const { promise, reject } = Promise.withResolvers<Response>();
    signal.addEventListener('abort', () => reject(signal.reason as Error));
    return await promise;
  });
  await show(load, server);
  await waitFor(() => expect(server).toHaveBeenCalledTimes(1));
  expect(timeout).toHaveBeenCalledWith(10_000);
  load.mockResolvedValue(loaded);
  deadline.abort(new DOMException('no response in time', 'TimeoutError'));
  await screen.findByText('the part');
  expect(server).toHaveBeenCalledTimes(2);
});

it('waits while something in front of the console responds in its place', async () => {
  const load = vi.fn(async () => Promise.reject<typeof loaded>(new TypeError(MISSING)));
  const server = vi.fn(async () => {
    if (server.mock.calls.length === 2) load.mockResolvedValue(loaded);
    return new Response('', { status: server.mock.calls.length === 1 ? 502 : 200 });
  });
  await show(load, server);
  await screen.findByText('the part');
  expect(reload).not.toHaveBeenCalled();
});

it('loads the page again when the server responds and has no such file, once', async () => {
  const load = () => Promise.reject<typeof loaded>(new TypeError(MISSING));
  const server = async () => new Response();
  await show(load, server);
  await waitFor(() => expect(reload).toHaveBeenCalled());
  cleanup();
  await show(load, server);
  await screen.findByText(MISSING);
  expect(reload).toHaveBeenCalledTimes(1);
});
