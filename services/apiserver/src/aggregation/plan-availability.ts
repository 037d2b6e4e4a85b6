import type { APIService, APIServiceCondition, EndpointSlice, KubeObject, Service } from '@gantry/objects';
import { formatTime, type Instant } from '@gantry/base';
import { DOCUMENTS_TOO_LARGE, type RemoteApi } from './api-service-index.ts';

/** The availability of an APIService, as its condition reports it. */
export type Finding = Pick<APIServiceCondition, 'status' | 'reason' | 'message'>;

export const LOCAL: Finding = {
  status: 'True',
  reason: 'Local',
  message: 'Local APIServices are always available',
};

export const PASSED: Finding = { status: 'True', reason: 'Passed', message: 'all checks passed' };

export function failedDiscovery(message: string): Finding {
  return { status: 'False', reason: 'FailedDiscoveryCheck', message };
}

export function tooLargeDocuments(message: string): Finding {
  return { status: 'False', reason: DOCUMENTS_TOO_LARGE, message };
}

/** The problem with the Service or endpoints of an APIService. Undefined if there is none; then the server itself must be checked. */
export function judgeBacking(
  { service }: RemoteApi,
  found: (Service & KubeObject) | undefined,
  slices: readonly EndpointSlice[],
): Finding | undefined {
  const { name, namespace, port } = service;
  const which = `service/${name} in ${JSON.stringify(namespace)}`;
  const unavailable = (reason: string, message: string): Finding => ({ status: 'False', reason, message });
  if (found === undefined) return unavailable('ServiceNotFound', `${which} is not present`);
  if ((found.spec?.type ?? 'ClusterIP') !== 'ClusterIP') return undefined;
  const wanted = (found.spec?.ports ?? []).find((one) => one.port === port);
  if (wanted === undefined) return unavailable('ServicePortError', `${which} is not listening on port ${port}`);
  if (slices.length === 0) return unavailable('EndpointsNotFound', `cannot find endpointslices for ${which}`);
  const portName = wanted.name ?? '';
  if (slices.some((slice) => isReady(slice, portName))) return undefined;
  const message = `endpointslices for ${which} have no addresses with port name ${JSON.stringify(portName)}`;
  return unavailable('MissingEndpoints', message);
}

function isReady({ endpoints, ports }: EndpointSlice, portName: string): boolean {
  const hasReady = (endpoints ?? []).some(({ conditions }) => conditions?.ready !== false);
  return hasReady && (ports ?? []).some(({ name, port }) => (name ?? '') === portName && port !== undefined);
}

/** The status of the APIService with the finding; undefined when it already has it. */
export function withAvailability(
  { status }: APIService,
  finding: Finding,
  now: Instant,
): NonNullable<APIService['status']> | undefined {
  const conditions = status?.conditions ?? [];
  const before = conditions.find(({ type }) => type === 'Available');
  const { status: is, reason = '', message = '' } = finding;
  const isSame = before?.status === is;
  if (isSame && (before?.reason ?? '') === reason && (before?.message ?? '') === message) return undefined;
  const turned = isSame ? before?.lastTransitionTime : undefined;
  const after: APIServiceCondition = {
    type: 'Available',
    status: is,
    lastTransitionTime: turned ?? formatTime(now),
    reason,
    message,
  };
  const replaced = conditions.map((condition) => (condition === before ? after : condition));
  return { ...status, conditions: before === undefined ? [...conditions, after] : replaced };
}
