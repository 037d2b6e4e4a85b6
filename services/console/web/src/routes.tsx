import { createRootRoute, createRoute, createRouter, retainSearchParams } from '@tanstack/react-router';
import { Frame } from './shell/frame.tsx';
import { lazyPart } from './shell/lazy-part.ts';
import { NotFound, PageFailure } from './shell/notices.tsx';

/** Search parameters are texts: `parse` keeps those that are, and leaves out the others. */
const texts =
  <const Name extends string>(...names: readonly Name[]) =>
  (search: Record<string, unknown>): { [name in Name]?: string } => {
    const out: { [name in Name]?: string } = {};
    for (const name of names) {
      const value = search[name];
      if (value !== undefined && value !== '') out[name] = String(value);
    }
    return out;
  };

/** `ns`: the namespace of all pages; `at`: the revision of the past that they show. */
const root = createRootRoute({
  component: Frame,
  notFoundComponent: NotFound,
  validateSearch: texts('ns', 'at'),
  search: { middlewares: [retainSearchParams(['ns', 'at'])] },
});

const cluster = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: lazyPart(() => import('./cluster/cluster-page.tsx'), 'ClusterPage'),
});

const objects = createRoute({
  getParentRoute: () => root,
  path: '/objects/$kind',
  validateSearch: texts('q', 'labels', 'fields', 'sort', 'hide', 'wide'),
  component: lazyPart(() => import('./objects/objects-page.tsx'), 'ObjectsPage'),
});

const object = createRoute({
  getParentRoute: () => root,
  path: '/objects/$kind/$namespace/$name',
  validateSearch: texts('tab', 'do', 'container'),
  component: lazyPart(() => import('./object/object-page.tsx'), 'ObjectPage'),
});

const loops = createRoute({
  getParentRoute: () => root,
  path: '/control-loops',
  validateSearch: texts('node'),
  component: lazyPart(() => import('./control-plane/loops-page.tsx'), 'LoopsPage'),
});

const etcd = createRoute({
  getParentRoute: () => root,
  path: '/etcd',
  component: lazyPart(() => import('./control-plane/etcd-page.tsx'), 'EtcdPage'),
});

const history = createRoute({
  getParentRoute: () => root,
  path: '/history',
  component: lazyPart(() => import('./time/history-page.tsx'), 'HistoryPage'),
});

const chaos = createRoute({
  getParentRoute: () => root,
  path: '/chaos',
  validateSearch: texts('run'),
  component: lazyPart(() => import('./chaos/chaos-page.tsx'), 'ChaosPage'),
});

const routeTree = root.addChildren([cluster, loops, etcd, history, chaos, objects, object]);

export const createConsoleRouter = () =>
  createRouter({
    routeTree,
    defaultPreload: 'intent',
    defaultErrorComponent: PageFailure,
    // Texts stay texts: a version such as `12` is no number.
    parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
    stringifySearch: (search) => {
      const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '');
      return given.length === 0 ? '' : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
    },
  });

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
}
