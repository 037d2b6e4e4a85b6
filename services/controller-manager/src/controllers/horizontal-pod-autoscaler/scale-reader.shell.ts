import { errorMessage } from '@gantry/base';
import { pathOf } from '@gantry/client';
import type { ServedResources } from '@gantry/controller-runtime';
import { resources } from '@gantry/kinds';
import {
  type CrossVersionObjectReference,
  type HorizontalPodAutoscaler,
  type JsonObject,
  parseApiVersion,
  type Resource,
  type Scale,
  StatusError,
} from '@gantry/objects';
import type { TargetScale } from './plan.ts';

/** Reads a path of the API with a linearizable GET: for extension servers and subresources. Rejects with StatusError. */
export type ReadPath = (path: string, signal: AbortSignal) => Promise<JsonObject>;

const GENERIC: Readonly<Record<number, string>> = {
  404: 'the server could not find the requested resource',
  503: 'the server is currently unable to handle the request',
};

/**
 * Kubernetes' client message about a failed read. For responses that are not a Status, it has its own texts that name the resource, and the
 * object if one was requested.
 */
export function readFailure(error: unknown, resource: string): string {
  if (error instanceof StatusError && error.details === undefined) {
    const generic = GENERIC[error.code];
    if (generic !== undefined) return `${generic} (get ${resource})`;
  }
  return errorMessage(error);
}

/** Reads the scale of an autoscaler's target. */
export async function readScale(
  { metadata, spec }: HorizontalPodAutoscaler,
  kinds: Kinds,
  read: ReadPath,
  signal: AbortSignal,
): Promise<{ readonly target: TargetScale; readonly resource?: Resource }> {
  const resource = resourceOfKind(spec.scaleTargetRef, kinds);
  if (typeof resource === 'string') return { target: { kind: 'failed', message: resource } };
  try {
    const path = pathOf(resource, metadata.namespace ?? '', spec.scaleTargetRef.name, 'scale');
    const scale = (await read(path, signal)) as Scale;
    return { target: { kind: 'found', scale }, resource };
  } catch (error) {
    signal.throwIfAborted();
    // Kubernetes' client of scales does not name the group.
    const what = `${resource.resource} ${spec.scaleTargetRef.name}`;
    return { target: { kind: 'failed', message: readFailure(error, what) } };
  }
}

/** The served kinds that are not built in. */
export type Kinds = Pick<ServedResources, 'findKind'>;

/** The built-in resources by group and kind; if a kind has several versions, the stored one. */
const BUILT_IN: ReadonlyMap<string, Resource> = new Map(
  resources
    .toSorted((a, b) => Number(a.storage === undefined) - Number(b.storage === undefined))
    .map((definition) => [`${definition.group}/${definition.kind}`, definition]),
);

/** The resource of a kind in any version, or Kubernetes' message why there is none. */
export function resourceOfKind(
  { apiVersion = '', kind }: CrossVersionObjectReference,
  kinds: Kinds,
): Resource | string {
  if (apiVersion.split('/').length > 2) return `unexpected GroupVersion string: ${apiVersion}`;
  const { group } = parseApiVersion(apiVersion);
  const found = BUILT_IN.get(`${group}/${kind}`) ?? kinds.findKind(group, kind);
  return found ?? `no matches for kind ${JSON.stringify(kind)} in group ${JSON.stringify(group)}`;
}
