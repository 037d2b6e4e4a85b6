import { ManualClock } from '@gantry/base/testing';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router';
import { cleanup, configure, render, waitFor } from '@testing-library/react';
import { createContext, type ReactNode, use } from 'react';
import { expect, onTestFinished, vi } from 'vitest';
import { allows, type Attempt, type ResourceRule } from '../api/access.ts';
import type { Api } from '../api/http.ts';
import type { Kind } from '../api/kinds.ts';
import { ConsoleContext } from '../shell/console-context.ts';

/** A request of a component. */
export interface Sent {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly body?: unknown;
}

interface Options {
  readonly kinds?: readonly Kind[];
  /** API versions whose server does not respond. */
  readonly stale?: readonly string[];
  /** Answers requests with JSON, or throws StatusError. */
  readonly server: (sent: Sent) => unknown;
  /** What the user may do, in each namespace and in the whole cluster; absent: everything. A promise: the server has not responded yet. */
  readonly rules?: readonly ResourceRule[] | Promise<readonly ResourceRule[]>;
  /** Of the page. */
  readonly path?: string;
}

interface Page {
  readonly clock: ManualClock;
  readonly address: () => string;
  readonly navigate: (path: string) => Promise<void>;
  /** Sends an event to the watches whose path has a text. */
  readonly send: (path: string, event: object) => Promise<void>;
  /** How many reads wait for the server. */
  readonly openReads: () => number;
  /** Shows something else in its place, as a page does when its data have changed. */
  readonly show: (content: ReactNode) => void;
}

// The default of one second depends on the speed of the machine.
configure({ asyncUtilTimeout: 30_000 });

const EVERYTHING: readonly ResourceRule[] = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }];
const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubject';
const PATHS = ['/', '/chaos', '/objects/$kind', '/objects/$kind/$namespace/$name'];

/** The content of the page: with a router's own component, what has changed would be mounted anew. */
const ShownContext = createContext<ReactNode>(null);

function Shown(): ReactNode {
  return use(ShownContext);
}

/** A watch of the page. */
class FakeSocket extends EventTarget {
  readonly close = () => {};
  readonly url: string;

  constructor(url: string) {
    super();
    this.url = url;
  }
}

/** Shows a component on a page of the console, whose server is a function. It goes with the test. */
export async function renderInConsole(content: ReactNode, options: Options): Promise<Page> {
  const { kinds = [], stale = [], path = '/' } = options;
  const clock = new ManualClock();
  const value = { api: apiOf(options), kinds, stale, clock, random: () => 0.5, at: undefined };
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const root = createRootRoute({ component: Shown });
  const routes = PATHS.map((each) => createRoute({ getParentRoute: () => root, path: each }));
  const history = createMemoryHistory({ initialEntries: [path] });
  const router = createRouter({ routeTree: root.addChildren(routes), history });
  await router.load();
  const page = (shown: ReactNode) => (
    <QueryClientProvider client={queries}>
      <ConsoleContext value={value}>
        <ShownContext value={shown}>
          <RouterProvider router={router as never} />
        </ShownContext>
      </ConsoleContext>
    </QueryClientProvider>
  );
  const sockets: FakeSocket[] = [];
  const open = function (url: string) {
    const socket = new FakeSocket(url);
    sockets.push(socket);
    return socket;
  };
  vi.stubGlobal('WebSocket', open);
  const { rerender } = render(page(content));
  onTestFinished(() => {
    cleanup();
    queries.clear();
    vi.unstubAllGlobals();
  });
  return {
    clock,
    send: async (part, event) => {
      const found = () => sockets.filter(({ url }) => url.includes(part));
      await waitFor(() => expect(found()).not.toEqual([]));
      const data = JSON.stringify(event);
      for (const socket of found()) socket.dispatchEvent(Object.assign(new Event('message'), { data }));
    },
    address: () => router.state.location.href,
    openReads: () => queries.isFetching(),
    navigate: (to) => router.navigate({ to: to as never }),
    show: (shown) => rerender(page(shown)),
  };
}

function apiOf({ server, rules = EVERYTHING }: Options): Api {
  const json = async (path: string, { method = 'GET', body }: { method?: string; body?: unknown } = {}) => {
    if (!path.startsWith(REVIEWS)) return await server({ method, path, body });
    const resourceRules = await rules;
    if (path.endsWith('rulesreviews')) return { status: { resourceRules } };
    const { spec } = body as { readonly spec: { readonly resourceAttributes: Attempt } };
    return { status: { allowed: allows({ rules: resourceRules, isIncomplete: false }, spec.resourceAttributes) } };
  };
  return {
    session: { user: 'jane', groups: [], csrf: 'c', cluster: { id: 'test', version: 'v1' } },
    fetch: async (path, sent) => Response.json((await json(path, sent)) ?? {}),
    json: async <T,>(path: string, sent?: Parameters<Api['json']>[1]) => (await json(path, sent)) as T,
    socketUrl: (path) => `ws://127.0.0.1${path}`,
  };
}
