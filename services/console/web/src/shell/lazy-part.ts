import { lazyRouteComponent } from '@tanstack/react-router';
import { type ComponentType, createElement, lazy, type ReactNode, useState } from 'react';
import { createQueries } from './queries.ts';

const queries = createQueries();
/** One that hangs would keep all parts from being asked for again: they wait for the same request. */
const DEADLINE_MS = 10_000;

/**
 * A component of a file that is loaded when it is shown. If that fails, it is asked for again as soon as the server responds. Browsers that keep
 * failed imports, and a server with another build, have no use for that: then TanStack Router loads the page again, once.
 */
export const lazyPart: typeof lazyRouteComponent = (load, name) => {
  const part = lazyRouteComponent(() => load().catch(() => untilServerResponds().then(load)), name);
  const PartOfPage = part as ComponentType;
  const Loading = lazy(async () => {
    await part.preload?.();
    return { default: PartOfPage };
  });
  // Until its file is there, the router's own component calls React's `use`, and no more when it is shown, which React does not allow.
  const Shown = (props: object): ReactNode => {
    const [Component] = useState(() => (part.preload === undefined ? PartOfPage : Loading));
    return createElement(Component, props);
  };
  return Object.defineProperty(Shown, 'preload', { get: () => part.preload }) as typeof part;
};

function untilServerResponds(): Promise<true> {
  return queries.fetchQuery({
    queryKey: ['server'],
    queryFn: async () => {
      const { ok, status } = await fetch('/', {
        method: 'HEAD',
        cache: 'no-store',
        signal: AbortSignal.timeout(DEADLINE_MS),
      });
      if (!ok) throw new UnavailableError(`the console responds with ${status}`);
      return true as const;
    },
    staleTime: 0,
    retry: true,
  });
}

class UnavailableError extends Error {
  override readonly name = 'UnavailableError';
}
