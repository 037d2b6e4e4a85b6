import { type JsonObject, StatusError } from '@gantry/objects';
import { externalMetric, MetricError, objectMetric, podsMetrics, resourceMetrics } from './metric-answers.ts';
import type { MetricQuery, MetricReading } from './metric-readings.ts';
import { type Kinds, readFailure, type ReadPath, resourceOfKind } from './scale-reader.shell.ts';

/** The pods whose metrics are read. */
export interface MetricScope {
  readonly namespace: string;
  /** The selector of the pods. */
  readonly selector: string;
}

const CUSTOM = 'custom.metrics.k8s.io';
const EXTERNAL = 'external.metrics.k8s.io';
/** Versions that Kubernetes' client of custom metrics supports, preferred first. */
const CUSTOM_VERSIONS = ['v1beta2', 'v1beta1'];

/** Reads one metric through the API server, whichever server serves it. Rejects only when the signal is aborted. */
export async function readMetric(
  query: MetricQuery,
  scope: MetricScope,
  { kinds, read }: { readonly kinds: Kinds; readonly read: ReadPath },
  signal: AbortSignal,
): Promise<MetricReading> {
  try {
    switch (query.api) {
      case 'resource':
        return await readResource(query, scope, read, signal);
      case 'pods':
        return await readPods(query, scope, read, signal);
      case 'object':
        return await readObject(query, scope, { kinds, read }, signal);
      case 'external':
        return await readExternal(query, scope, read, signal);
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof MetricError) return { kind: 'failed', message: error.message };
    throw error;
  }
}

type QueryOf<K extends MetricQuery['api']> = Extract<MetricQuery, { api: K }>;

async function readResource(
  { resource, container }: QueryOf<'resource'>,
  { namespace, selector }: MetricScope,
  read: ReadPath,
  signal: AbortSignal,
): Promise<MetricReading> {
  const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${encodeURIComponent(namespace)}/pods`;
  const ask = {
    api: 'resource',
    path: path + parameters({ labelSelector: selector }),
    resource: 'pods.metrics.k8s.io',
  };
  return { kind: 'pods', metrics: resourceMetrics(await answer(ask, read, signal), resource, container) };
}

async function readPods(
  { metric, metricSelector }: QueryOf<'pods'>,
  { namespace, selector }: MetricScope,
  read: ReadPath,
  signal: AbortSignal,
): Promise<MetricReading> {
  const root = await customRoot(read, signal);
  const path = `${root}/namespaces/${encodeURIComponent(namespace)}/pods/*/${encodeURIComponent(metric)}`;
  const query = parameters({ labelSelector: selector, metricLabelSelector: metricSelector });
  const ask = { api: 'custom', path: path + query, resource: `pods.${CUSTOM} *` };
  return { kind: 'pods', metrics: podsMetrics(await answer(ask, read, signal)) };
}

async function readObject(
  { metric, metricSelector, object }: QueryOf<'object'>,
  { namespace }: MetricScope,
  { kinds, read }: { readonly kinds: Kinds; readonly read: ReadPath },
  signal: AbortSignal,
): Promise<MetricReading> {
  const root = await customRoot(read, signal);
  const resource = resourceOfKind(object, kinds);
  if (typeof resource === 'string')
    throw new MetricError(`unable to fetch metrics from custom metrics API: ${resource}`);
  const name = resource.group === '' ? resource.resource : `${resource.resource}.${resource.group}`;
  const inside = `/namespaces/${encodeURIComponent(namespace)}`;
  // A reference cannot leave its namespace, so the name of a Namespace is ignored.
  const isNamespace = resource.group === '' && resource.kind === 'Namespace';
  const of = isNamespace ? `${inside}/metrics` : `${inside}/${name}/${encodeURIComponent(object.name)}`;
  const query = parameters({ metricLabelSelector: metricSelector });
  const path = `${root}${of}/${encodeURIComponent(metric)}${query}`;
  const asked = isNamespace ? `metrics.${CUSTOM} ${metric}` : `${name}.${CUSTOM} ${object.name}`;
  const list = await answer({ api: 'custom', path, resource: asked }, read, signal);
  return { kind: 'values', values: [objectMetric(list)] };
}

async function readExternal(
  { metric, metricSelector }: QueryOf<'external'>,
  { namespace }: MetricScope,
  read: ReadPath,
  signal: AbortSignal,
): Promise<MetricReading> {
  const path = `/apis/${EXTERNAL}/v1beta1/namespaces/${encodeURIComponent(namespace)}/${encodeURIComponent(metric)}`;
  const query = parameters({ labelSelector: metricSelector });
  const ask = { api: 'external', path: path + query, resource: `${metric}.${EXTERNAL}` };
  return { kind: 'values', values: externalMetric(await answer(ask, read, signal)) };
}

/** The path of the served version of custom metrics: the preferred one, if it is supported here. */
async function customRoot(read: ReadPath, signal: AbortSignal): Promise<string> {
  const failure = 'unable to fetch metrics from custom metrics API';
  const none = `${failure}: no custom metrics API (${CUSTOM}) registered`;
  const group = await read(`/apis/${CUSTOM}`, signal).catch((error: unknown) => {
    throw new MetricError(
      error instanceof StatusError && error.reason === 'NotFound' ? none : `${failure}: ${readFailure(error, CUSTOM)}`,
    );
  });
  const versions = [group.preferredVersion, ...(Array.isArray(group.versions) ? group.versions : [])];
  const version = versions
    .map((one) => String((one as JsonObject | undefined)?.version))
    .find((one) => CUSTOM_VERSIONS.includes(one));
  if (version === undefined) throw new MetricError(none);
  return `/apis/${CUSTOM}/${version}`;
}

async function answer(
  { api, path, resource }: { readonly api: string; readonly path: string; readonly resource: string },
  read: ReadPath,
  signal: AbortSignal,
): Promise<JsonObject> {
  try {
    return await read(path, signal);
  } catch (error) {
    throw new MetricError(`unable to fetch metrics from ${api} metrics API: ${readFailure(error, resource)}`);
  }
}

function parameters(values: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== ''));
  return query.size === 0 ? '' : `?${query.toString()}`;
}
