import { create } from '@bufbuild/protobuf';
import { type Clock, errorMessage, type Instant } from '@gantry/base';
import { lastRunOf, type Pod, StatusError } from '@gantry/objects';
import { ContainerLogsRequestSchema } from '@gantry/proto';
import type { Logger, Metrics } from '@gantry/service';
import { noPreviousRun, readContainerLog } from '../logs/log-service.ts';
import type { ProbeMetrics } from '../probes/probe-metrics.ts';
import type { EngineInfo } from '../runtime/engine.ts';
import type { Owner } from '../runtime/labels.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { InterfaceStats, HostMeter } from '../runtime/stats.ts';
import type { UsageSampler } from '../usage/usage-sampler.ts';
import type { EndpointReply, EndpointRequest, NodeEndpoints } from './endpoint.ts';
import { containersOf, type Measurement, NodeMeter } from './measurement.ts';
import { cadvisorMetrics, type DiskReading } from './cadvisor-metrics.ts';
import { probeMetricsText } from './probe-metrics-text.ts';
import { resourceMetrics } from './resource-metrics.ts';
import { readLogFolder } from './log-folder.ts';
import { statsSummary, type StoredByPod, type Summarized } from './stats-summary.ts';

/** The data sources of the endpoints. */
export interface NodeEndpointsOptions {
  readonly runtime: Runtime;
  readonly owner: Owner;
  /** The id of the agent's own container, which counts towards its node. */
  readonly own: string | undefined;
  readonly engine: EngineInfo;
  readonly usage: Pick<UsageSampler, 'pods' | 'node'>;
  readonly meter: HostMeter;
  /** The disk usage of pods with storage limits. Requests do not trigger new measurements. */
  readonly storage: { readonly storageOf: (podUid: string) => StoredByPod | undefined };
  readonly probes: Pick<ProbeMetrics, 'totals'>;
  /** The pods of this node. */
  readonly pods: () => readonly Pod[];
  readonly metrics: Metrics;
  /** Settings with the kubelet's names. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly startedAt: Instant;
  readonly clock: Clock;
  readonly logger: Logger;
}

type Endpoint = (request: EndpointRequest, rest: readonly string[]) => Promise<EndpointReply>;

const TEXT = 'text/plain; charset=utf-8';
const PROMETHEUS = 'text/plain; version=0.0.4; charset=utf-8';
export const NOT_FOUND: EndpointReply = { code: 404, contentType: TEXT, body: '404 page not found\n' };

async function summary(
  options: NodeEndpointsOptions,
  parts: Summarized['parts'],
  measured: Measurement,
): Promise<object> {
  const { owner, startedAt, engine, usage, meter, storage } = options;
  return statsSummary({
    node: owner.node,
    startedAt,
    capacityBytes: engine.memoryBytes,
    measured,
    nodeUsage: usage.node(),
    podUsage: usage.pods(),
    host: await meter.read(),
    network: await hostNetwork(options),
    storageOf: (podUid) => storage.storageOf(podUid),
    parts,
  });
}

/** Undefined when the host's interfaces cannot be read; the rest of the summary does not need them. */
async function hostNetwork({ meter, logger }: NodeEndpointsOptions): Promise<readonly InterfaceStats[] | undefined> {
  return await orNothing(meter.readNetwork(), "the host's network", logger);
}

async function diskReading(
  { meter, runtime, storage, logger }: NodeEndpointsOptions,
  measured: Measurement,
  signal: AbortSignal,
): Promise<DiskReading | undefined> {
  const ids = containersOf(measured).map(([, { state }]) => state.id);
  const io = await runtime.stats.readDeviceIo(ids, signal);
  const host = await orNothing(Promise.all([meter.read(), meter.readDevices()]), "the host's disk", logger);
  if (host === undefined) return undefined;
  const [{ disk }, devices] = host;
  return { host: disk, devices, io, storageOf: (podUid) => storage.storageOf(podUid) };
}

/** Undefined when the read fails, so that the rest of the response can still be sent. */
async function orNothing<T>(reading: Promise<T>, what: string, logger: Logger): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    logger.warn({ reason: errorMessage(error) }, `${what} cannot be read, and is left out of a response`);
    return undefined;
  }
}

/** The kubelet's read-only HTTP endpoints of one node, which tools use through the node's proxy. */
export function createNodeEndpoints(options: NodeEndpointsOptions): NodeEndpoints {
  const { runtime, owner, engine, pods, metrics, settings, clock } = options;
  const meter = new NodeMeter(runtime, owner, options.own);
  const measure = (signal: AbortSignal) => meter.measure(clock.now(), signal);
  const prometheus = async (signal: AbortSignal, render: (measured: Measurement) => string) =>
    reply(PROMETHEUS, render(await measure(signal)));
  const endpoints: Readonly<Record<string, Endpoint>> = {
    healthz: async (_request, rest) =>
      rest.length === 0 || (rest.length === 1 && ['ping', 'log', 'syncloop', ''].includes(rest[0] ?? ''))
        ? reply(TEXT, 'ok')
        : NOT_FOUND,
    pods: async (_request, rest) => (isWhole(rest) ? json(podList(pods())) : NOT_FOUND),
    runningpods: async ({ signal }, rest) => {
      if (!isWhole(rest)) return NOT_FOUND;
      return json(podList((await measure(signal)).pods.map(runningPod)));
    },
    configz: async (_request, rest) => (isWhole(rest) ? json({ kubeletconfig: settings }) : NOT_FOUND),
    metrics: async ({ signal }, rest) => {
      if (isWhole(rest)) {
        const { contentType, text } = await metrics.render();
        return reply(contentType, text);
      }
      if (rest.join('/') === 'resource') return await prometheus(signal, resourceMetrics);
      if (rest.join('/') === 'cadvisor') {
        const measured = await measure(signal);
        return reply(PROMETHEUS, cadvisorMetrics(measured, engine, await diskReading(options, measured, signal)));
      }
      return rest.join('/') === 'probes' ? reply(PROMETHEUS, probeMetricsText(options.probes.totals())) : NOT_FOUND;
    },
    stats: async ({ signal, query }, rest) => {
      if (rest.join('/') !== 'summary') return NOT_FOUND;
      const parts = query.get('only_cpu_and_memory') === 'true' ? 'cpu-and-memory' : 'all';
      return json(await summary(options, parts, await measure(signal)));
    },
    containerLogs: async (request, rest) => containerLogs(options, request, rest),
    logs: async ({ signal }, rest) => (await readLogFolder(runtime, owner, rest, signal)) ?? NOT_FOUND,
  };
  return async (request) => {
    const [, name = '', ...rest] = request.path.split('/');
    return Object.hasOwn(endpoints, name) ? ((await endpoints[name]?.(request, rest)) ?? NOT_FOUND) : NOT_FOUND;
  };
}

function isWhole(rest: readonly string[]): boolean {
  return rest.length === 0 || (rest.length === 1 && rest[0] === '');
}

function reply(contentType: string, body: string): EndpointReply {
  return { code: 200, contentType, body };
}

function json(value: object): EndpointReply {
  return reply('application/json', JSON.stringify(value));
}

function podList(items: readonly object[]): object {
  return { kind: 'PodList', apiVersion: 'v1', metadata: {}, items };
}

function runningPod({ identity, containers }: Measurement['pods'][number]): object {
  return {
    metadata: { name: identity.name, namespace: identity.namespace, uid: identity.uid },
    spec: { containers: containers.map(({ state }) => ({ name: state.name, image: state.image })) },
    status: {},
  };
}

async function containerLogs(
  { runtime, owner, pods, clock }: NodeEndpointsOptions,
  { query, signal }: EndpointRequest,
  [namespace = '', name = '', container = '', ...more]: readonly string[],
): Promise<EndpointReply> {
  if (container === '' || more.length > 0) return NOT_FOUND;
  const pod = pods().find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
  if (pod === undefined) throw new StatusError('NotFound', `pod ${JSON.stringify(name)} does not exist`);
  const { containers = [], initContainers = [], ephemeralContainers = [] } = pod.spec ?? {};
  if (![...containers, ...initContainers, ...ephemeralContainers].some((one) => one.name === container)) {
    throw new StatusError(
      'NotFound',
      `container ${JSON.stringify(container)} not found in pod ${JSON.stringify(name)}`,
    );
  }
  const sinceSeconds = readNumber(query, 'sinceSeconds');
  const request = create(ContainerLogsRequestSchema, {
    namespace,
    pod: name,
    podUid: pod.metadata.uid ?? '',
    container,
    follow: query.get('follow') === 'true',
    previousId: query.get('previous') === 'true' ? previousRun(pod, container) : '',
    timestamps: query.get('timestamps') === 'true',
    ...optional('tailLines', readNumber(query, 'tailLines')),
    ...optional('limitBytes', readNumber(query, 'limitBytes')),
    ...optional('sinceMs', sinceSeconds === undefined ? undefined : clock.now() - sinceSeconds * 1000),
  });
  return { code: 200, contentType: TEXT, body: readContainerLog(runtime, owner, request, signal) };
}

/** StatusError 'BadRequest' with the kubelet's message when there is no previous run. */
function previousRun(pod: Pod, container: string): string {
  const found = lastRunOf(pod, container);
  if (found === '') throw noPreviousRun(pod.metadata.name ?? '', container);
  return found;
}

function readNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  if (!/^\d{1,15}$/.test(text)) throw StatusError.badRequest(`${name}: ${JSON.stringify(text)} is not a number`);
  return Number(text);
}

function optional(name: string, value: number | undefined): Readonly<Record<string, bigint>> {
  return value === undefined ? {} : { [name]: BigInt(Math.max(0, Math.floor(value))) };
}
