import { type Clock, formatMicroTime } from '@gantry/base';
import type { Metrics, MetricValue, ReportedParts } from '@gantry/service';
import type { WatchCache } from '../cache/index.ts';
import type { RevisionMarks } from './revision-marks.ts';

export interface OwnReportOptions {
  readonly identity: string;
  /** Whether this one does the work that one API server does for all. */
  readonly leads: (signal: AbortSignal) => Promise<boolean>;
  /** The newest revision of etcd. */
  readonly newestRevision: (signal: AbortSignal) => Promise<number>;
  readonly cache: Pick<WatchCache, 'revision'>;
  readonly marks: Pick<RevisionMarks, 'list'>;
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** Whether this one can answer requests. */
  readonly isReady: () => Promise<boolean>;
  /** Whether etcd has answered its last question. */
  readonly isEtcdAnswering: () => boolean;
}

/** Requests of one verb for one resource. */
interface Requests {
  readonly verb: string;
  readonly resource: string;
  readonly codes: Record<string, number>;
  /** The mean time; absent for watches and logs. */
  meanSeconds?: number;
}

const ASK_MS = 2000;

/** What this API server says of itself. Counts begin with the process. Create it when the process starts. */
export function ownReport(options: OwnReportOptions): ReportedParts {
  const { identity, leads, metrics, marks, clock } = options;
  const startedAt = formatMicroTime(clock.now());
  return {
    process: async () => ({
      component: 'kube-apiserver',
      identity,
      startedAt,
      // Without an answer of etcd, it is not known.
      leading: await leads(AbortSignal.timeout(ASK_MS)).catch(() => null),
    }),
    api: async () => ({
      requests: await requestsOf(metrics),
      watches: await watchesOf(metrics),
      cache: await cacheOf(options),
      flowControl: await flowControlOf(metrics),
    }),
    marks: () => marks.list(),
    ready: options.isReady,
    etcd: () => (options.isEtcdAnswering() ? 'answers' : 'silent'),
  };
}

async function cacheOf({ cache, newestRevision }: OwnReportOptions): Promise<object> {
  const newest = await newestRevision(AbortSignal.timeout(ASK_MS)).catch(() => undefined);
  // Read after etcd's: a cache that follows is not behind by what was written meanwhile.
  const { revision } = cache;
  return newest === undefined ? { revision } : { revision, behind: Math.max(0, newest - revision) };
}

async function requestsOf(metrics: Metrics): Promise<readonly Requests[]> {
  const found = new Map<string, Requests>();
  const keyOf = ({ labels }: MetricValue) => `${labels['verb']} ${labels['resource']}`;
  for (const one of await metrics.read('apiserver_request_total')) {
    const { verb = '', resource = '', code = '' } = one.labels;
    const own = found.get(keyOf(one)) ?? { verb: String(verb), resource: String(resource), codes: {} };
    found.set(keyOf(one), own);
    own.codes[code] = one.value;
  }
  const times = await metrics.read('apiserver_request_duration_seconds');
  const counts = new Map(
    times.filter(({ name }) => name.endsWith('_count')).map((one) => [keyOf(one), one.value] as const),
  );
  for (const one of times) {
    const own = found.get(keyOf(one));
    const count = counts.get(keyOf(one)) ?? 0;
    if (own !== undefined && one.name.endsWith('_sum') && count > 0) own.meanSeconds = one.value / count;
  }
  return [...found.values()];
}

/** Watches of clients over REST, and all with those of services. */
async function watchesOf(metrics: Metrics): Promise<readonly object[]> {
  const all = await metrics.read('gantry_watch_cache_watches');
  const rest = new Map(
    (await metrics.read('apiserver_longrunning_requests')).map(({ labels, value }) => [labels['resource'], value]),
  );
  return all
    .filter(({ value }) => value > 0)
    .map(({ labels: { resource = '' }, value }) => ({
      resource,
      watches: value,
      rest: rest.get(String(resource).replace(/^.*\//, '')) ?? 0,
    }));
}

const LEVEL = { limitSeats: 'current_limit_seats', nominalSeats: 'nominal_limit_seats' } as const;
const SCHEMA = {
  executingRequests: 'current_executing_requests',
  executingSeats: 'current_executing_seats',
  queuedRequests: 'current_inqueue_requests',
  queuedSeats: 'current_inqueue_seats',
  dispatched: 'dispatched_requests_total',
} as const;

/** The priority levels of flow control, each with its flow schemas. */
async function flowControlOf(metrics: Metrics): Promise<readonly object[]> {
  const read = (name: string) => metrics.read(`apiserver_flowcontrol_${name}`);
  const levels = new Map<string, Record<string, unknown> & { readonly schemas: Map<string, object> }>();
  for (const [field, name] of Object.entries(LEVEL)) {
    for (const { labels, value } of await read(name)) {
      const level = String(labels['priority_level']);
      const own = levels.get(level) ?? { name: level, schemas: new Map() };
      levels.set(level, Object.assign(own, { [field]: value }));
    }
  }
  for (const [field, name] of Object.entries(SCHEMA)) {
    for (const { labels, value } of await read(name)) {
      const { priority_level = '', flow_schema = '' } = labels;
      const schemas = levels.get(String(priority_level))?.schemas;
      const own = schemas?.get(String(flow_schema)) ?? { name: flow_schema };
      schemas?.set(String(flow_schema), Object.assign(own, { [field]: value }));
    }
  }
  for (const { labels, value } of await read('rejected_requests_total')) {
    const schema = levels.get(String(labels['priority_level']))?.schemas.get(String(labels['flow_schema']));
    if (schema !== undefined) Object.assign(schema, { rejected: { [String(labels['reason'])]: value } });
  }
  return [...levels.values()].map(({ schemas, ...level }) => ({ ...level, schemas: [...schemas.values()] }));
}
