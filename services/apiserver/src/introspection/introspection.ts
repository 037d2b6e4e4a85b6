import { type Clock, errorMessage, formatMicroTime } from '@gantry/base';
import { type Node, StatusError } from '@gantry/objects';
import { type KeyValueStore, type MemberStatus, prefixEnd } from '@gantry/etcd';
import type { GroupMember, Metrics, ReportedParts } from '@gantry/service';
import type { TlsSource } from '@gantry/tls';
import type { ObjectLookup } from '../auth/authz/object-lookup.ts';
import { listVersion, type WatchCache } from '../cache/index.ts';
import { ownReport } from './own-report.ts';
import {
  createProcessReports,
  type Gathered,
  type ProcessParts,
  type ProcessReports,
  type ReportingService,
} from './process-reports.ts';
import { OldestRevision, type RevisionMark, RevisionMarks } from './revision-marks.ts';

/** What an API server needs to show what the control plane does. */
export interface IntrospectionSettings {
  /** The name of this process, and its address. */
  readonly identity: string;
  readonly address: string;
  readonly kv: Pick<KeyValueStore, 'range'>;
  /** The status of each member of etcd. Rejects for a member that does not respond. */
  readonly members: readonly ((signal: AbortSignal) => Promise<MemberStatus>)[];
  readonly quotaBytes: number;
  /** For how long etcd keeps history. */
  readonly historyMinutes: number;
  /** The services with a leader, and the other API servers. */
  readonly services: readonly ReportingService[];
  readonly peers: ReportingService;
  /** The DNS, whose processes need no election. */
  readonly dns: ReportingService;
  /** The proxy of the host with this range of pods, and the range of this host. */
  readonly proxyOf: (podCidr: string) => ReportingService;
  readonly podCidr: string;
  /** The port of agents. */
  readonly agentPort: number;
}

export interface IntrospectionOptions extends IntrospectionSettings {
  readonly leads: (signal: AbortSignal) => Promise<boolean>;
  readonly cache: Pick<WatchCache, 'revision'>;
  readonly isReady: () => Promise<boolean>;
  readonly isEtcdAnswering: () => boolean;
  readonly tls: TlsSource;
  /** Its certificates for agents, whose authority is another one. */
  readonly agentTls: TlsSource;
  /** Finds nodes. */
  readonly lookup: Pick<ObjectLookup, 'get'>;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

/** A filter: absent fields match everything. */
export type Wanted = Readonly<Record<string, string | undefined>>;

/** What the control plane does, as values of JSON; docs/introspection.md has their fields. */
export interface Introspection {
  /** What this process says of itself to other API servers. */
  readonly parts: ReportedParts;
  readonly member: GroupMember;
  /** Whether another API server says that it can answer requests, and that etcd answers it. */
  readonly isAnotherReady: () => Promise<boolean>;
  readonly views: Readonly<Record<string, View>>;
}

export type View = (wanted: Wanted, signal: AbortSignal) => Promise<object>;

type Names = readonly ['process', ...string[]];

const ELECTIONS = '/gantry/elections/';
const CALL_TIMEOUT_MS = 2000;

/** Shows what the control plane does: it asks the other processes, and etcd, when a client asks for a report. */
export function createIntrospection(options: IntrospectionOptions): Introspection {
  const { clock, kv, cache, historyMinutes } = options;
  const reports = createProcessReports(options.tls, clock);
  const agents = createProcessReports(options.agentTls, clock);
  const marks = new RevisionMarks({ clock, revision: () => cache.revision, keepMs: historyMinutes * 60_000 });
  const newestRevision = async (signal: AbortSignal) =>
    (await kv.range({ key: ELECTIONS, fields: 'count' }, { signal, timeoutMs: CALL_TIMEOUT_MS })).revision;
  const parts = ownReport({ ...options, newestRevision, marks });
  const own = async (names: Names) => {
    const values = names.map(async (name) => [name, await parts[name]?.()] as const);
    return { address: options.address, parts: Object.fromEntries(await Promise.all(values)) };
  };
  const servers = async (names: Names): Promise<Gathered> => {
    const [self, others] = await Promise.all([own(names), reports.gather([options.peers], names)]);
    return { reports: [self, ...others.reports], unreachable: others.unreachable };
  };
  const loopsOf = async (node: string | undefined): Promise<readonly Gathered[]> => {
    const names = ['process', 'loops', 'queue', 'cache'] as const;
    if (node === undefined)
      return [await reports.gather([...options.services, options.dns, options.proxyOf(options.podCidr)], names)];
    const { agent, podCidr } = nodeOf(options, node);
    const proxies = podCidr === '' ? [] : [options.proxyOf(podCidr)];
    return await Promise.all([agents.gather([agent], names), reports.gather(proxies, names)]);
  };
  const oldest = new OldestRevision(kv);
  const stamped = (value: object) => ({ at: formatMicroTime(clock.now()), ...value });
  return {
    parts,
    isAnotherReady: () => isAnyReady(reports, options.peers),
    member: {
      name: 'introspection',
      run: (signal) => marks.run(signal),
      close: async () => void [reports, agents].map((one) => one[Symbol.dispose]()),
    },
    views: {
      leaders: async (wanted, signal) => {
        const [found, elections, api] = await Promise.all([
          reports.gather(options.services, ['process']),
          electionsOf(kv, signal),
          servers(['process']),
        ]);
        const leaders = leadersOf(elections, [...found.reports, ...api.reports]);
        return stamped({
          leaders: leaders.filter(({ component }) => matches(wanted['component'], component)),
          unreachable: [...found.unreachable, ...api.unreachable],
        });
      },
      loops: async (wanted) => {
        const gathered = await loopsOf(wanted['node']);
        const processes = gathered
          .flatMap(({ reports: found }) => found)
          .map(({ address, parts: { process, loops = [], queue, cache: own } }) => ({
            address,
            ...(process as { readonly component: string }),
            loops: (loops as readonly { readonly name: string }[]).filter(({ name }) => matches(wanted['loop'], name)),
            ...(queue === undefined ? {} : { queue }),
            ...(own === undefined ? {} : { cache: shownCache(own as { readonly revision: number }, cache.revision) }),
          }))
          .filter(({ component }) => matches(wanted['component'], component))
          .toSorted((one, other) => (one.component < other.component ? -1 : 1));
        return stamped({ processes, unreachable: gathered.flatMap(({ unreachable }) => unreachable) });
      },
      scheduling: async (wanted) => {
        const { reports: found, unreachable } = await reports.gather(options.services, ['process', 'decisions']);
        const decisions = found
          .flatMap(({ parts: { decisions: own = [] } }) => own as readonly PodDecision[])
          .filter(({ pod }) => matches(wanted['namespace'], pod.namespace) && matches(wanted['pod'], pod.name))
          .toSorted((one, other) => (one.at < other.at ? 1 : -1));
        return stamped({ decisions, unreachable });
      },
      etcd: async (_wanted, signal) => stamped(await membersOf(options, signal)),
      apiservers: async () => {
        const { reports: found, unreachable } = await servers(['process', 'api']);
        const shown = found.map(({ address, parts: { process, api } }) => ({
          address,
          ...(process as object),
          ...(api as object),
        }));
        return stamped({ apiservers: shown, unreachable });
      },
      history: async (_wanted, signal) => {
        const [{ reports: found }, range] = await Promise.all([servers(['process', 'marks']), oldest.find(signal)]);
        return stamped({ keptMinutes: historyMinutes, ...historyOf(range, found) });
      },
    },
  };
}

/** Whether one of the API servers says that it can answer requests, and that etcd answers it. */
export async function isAnyReady(reports: ProcessReports, servers: ReportingService): Promise<boolean> {
  const found = await reports.gather([servers], ['process', 'ready', 'etcd']);
  // One of an earlier release says nothing of etcd.
  return found.reports.some(({ parts: { ready, etcd } }) => ready === true && etcd !== 'silent');
}

/** The agent of a node, and the range of its host's pods; '' before it has one. Throws StatusError NotFound. */
function nodeOf(
  { lookup, agentPort }: IntrospectionOptions,
  name: string,
): { readonly agent: ReportingService; readonly podCidr: string } {
  const node: Partial<Node> | undefined = lookup.get('nodes', '', name);
  if (node === undefined) throw new StatusError('NotFound', `node: there is no node ${JSON.stringify(name)}`);
  const own = (node.status?.addresses ?? []).find(({ type }) => type === 'InternalIP');
  const agent = {
    name,
    port: agentPort,
    addresses: async () => {
      if (own === undefined) throw StatusError.unavailable('the node has no InternalIP');
      return [own.address];
    },
  };
  return { agent, podCidr: node.spec?.podCIDR ?? '' };
}

/** How far the caches of a process are behind this process's. */
function shownCache({ revision }: { readonly revision: number }, newest: number) {
  return { revision, behind: Math.max(0, newest - revision) };
}

interface PodDecision {
  readonly at: string;
  readonly pod: { readonly namespace: string; readonly name: string };
}

function matches(wanted: string | undefined, value: string): boolean {
  return wanted === undefined || wanted === value;
}

interface HeldOffice {
  readonly component: string;
  readonly holder: string;
  readonly epoch: number;
}

/** The offices that are held now. */
async function electionsOf(kv: IntrospectionSettings['kv'], signal: AbortSignal): Promise<readonly HeldOffice[]> {
  const range = { key: ELECTIONS, rangeEnd: prefixEnd(ELECTIONS) };
  const { kvs } = await kv.range(range, { signal, timeoutMs: CALL_TIMEOUT_MS });
  return kvs.map(({ key, value, createRevision }) => ({
    component: key.slice(ELECTIONS.length),
    holder: Buffer.from(value).toString(),
    epoch: createRevision,
  }));
}

/** Each component with its holder and its candidates. API servers are candidates for the maintenance of etcd. */
function leadersOf(
  elections: readonly HeldOffice[],
  reports: readonly { readonly address: string; readonly parts: ProcessParts }[],
) {
  const candidates = reports.map(({ address, parts: { process } }) => ({
    address,
    ...(process as { readonly component: string; readonly identity: string }),
  }));
  const components = new Set([
    ...elections.map(({ component }) => component),
    ...candidates.map(({ component }) => component).filter((component) => component !== 'kube-apiserver'),
  ]);
  return [...components].toSorted().map((component) => {
    const held = elections.find((one) => one.component === component);
    const isApiServers = !candidates.some((one) => one.component === component);
    return {
      component,
      holder: held?.holder ?? null,
      epoch: held?.epoch ?? null,
      candidates: candidates.filter((one) => one.component === (isApiServers ? 'kube-apiserver' : component)),
    };
  });
}

async function membersOf({ members, quotaBytes, clock }: IntrospectionOptions, signal: AbortSignal): Promise<object> {
  const found = await Promise.all(
    members.map(async (ask, index) => {
      const name = `etcd-${index}`;
      const startedMs = clock.monotonicMs();
      try {
        const status = await ask(signal);
        return { name, state: 'healthy', latencyMs: clock.monotonicMs() - startedMs, ...shownMember(status) } as const;
      } catch (error) {
        return { name, state: 'unreachable', reason: errorMessage(error) } as const;
      }
    }),
  );
  const leader = found.find((one) => 'isLeader' in one && one.isLeader);
  return { leader: leader?.name ?? null, quotaBytes, members: found };
}

function shownMember(status: MemberStatus) {
  return {
    id: status.memberId,
    isLeader: status.memberId === status.leaderId,
    version: status.version,
    revision: status.revision,
    raftTerm: status.raftTerm,
    raftIndex: status.raftIndex,
    raftAppliedIndex: status.raftAppliedIndex,
    sizeBytes: status.dbSizeBytes,
    inUseBytes: status.dbSizeInUseBytes,
    alarms: status.alarms,
  };
}

/** The versions that can still be listed, and when the cluster had some of them. */
function historyOf(
  { oldest, newest }: { readonly oldest: number; readonly newest: number },
  reports: readonly { readonly parts: ProcessParts }[],
) {
  const all = new Map<number, RevisionMark>();
  for (const { parts } of reports)
    for (const mark of (parts['marks'] ?? []) as readonly RevisionMark[]) all.set(Number(mark.resourceVersion), mark);
  const from = listVersion(oldest);
  const sorted = [...all].toSorted(([one], [other]) => one - other);
  const before = sorted.findLast(([version]) => version <= from)?.[1];
  const marks = sorted.filter(([version]) => version >= from).map(([, mark]) => mark);
  return {
    oldest: { resourceVersion: String(from), at: before?.at ?? null },
    newest: { resourceVersion: String(listVersion(newest)) },
    marks,
  };
}
