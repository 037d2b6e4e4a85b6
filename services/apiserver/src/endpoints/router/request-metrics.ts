import type { Metrics } from '@gantry/service';

/** The metrics of the REST endpoint. */
export interface RequestMetrics {
  observe(request: { verb: string; resource: string; code: number; seconds: number }): void;
  /** An open watch; the returned function ends it. */
  watching(resource: string): () => void;
}

export function createRequestMetrics(metrics: Metrics): RequestMetrics {
  const total = metrics.counter('apiserver_request_total', 'Requests by verb, resource and code.', [
    'verb',
    'resource',
    'code',
  ]);
  const duration = metrics.histogram(
    'apiserver_request_duration_seconds',
    'Time to answer, watches and logs excepted.',
    ['verb', 'resource'],
  );
  const watchers = metrics.gauge('apiserver_longrunning_requests', 'Open watches by resource.', ['resource']);
  const open = new Map<string, number>();
  const change = (resource: string, by: number): void => {
    const value = (open.get(resource) ?? 0) + by;
    open.set(resource, value);
    watchers.set(value, { resource });
  };
  return {
    observe: ({ verb, resource, code, seconds }) => {
      total.inc({ verb, resource, code });
      if (verb !== 'watch' && verb !== 'log') duration.observe(seconds, { verb, resource });
    },
    watching: (resource) => {
      change(resource, 1);
      return () => change(resource, -1);
    },
  };
}
