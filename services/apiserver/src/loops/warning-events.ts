import { type Clock, errorMessage, withDeadline } from '@gantry/base';
import { type Event, EVENTS, type KubeObject, type Service } from '@gantry/objects';
import type { Logger } from '@gantry/service';
import type { LoopbackClient } from '../loopback-client.ts';

const RECORD_MS = 5000;

/** A warning about an address or port of a Service. */
export interface ServiceWarning {
  readonly service: Service;
  /** The Kubernetes controller that reports such a warning. */
  readonly source: 'ipallocator-repair-controller' | 'portallocator-repair-controller';
  readonly reason: string;
  readonly message: string;
  /** The address or port. */
  readonly value: string;
}

/** A problem of etcd: a member has, or will soon have, no space, its data differs from that of the others, or a snapshot failed. */
export interface StorageWarning {
  /** `etcd-0`; `etcd` if it is none, or one that does not respond. */
  readonly member: string;
  readonly reason: 'EtcdNearlyFull' | 'EtcdNoSpace' | 'EtcdCorrupt' | 'SnapshotFailed';
  readonly message: string;
}

/** The Event of a warning. Its name is derived from the warning, so that several apiservers or rounds store only one. */
export function serviceEvent({ service, value, ...warning }: ServiceWarning, at: string): Event & KubeObject {
  return warningEvent({ ...warning, about: { ...service, apiVersion: 'v1', kind: 'Service' }, value }, at);
}

/** The Event about a ServiceCIDR whose status could not be written. */
export function rangeEvent(range: KubeObject, at: string): Event & KubeObject {
  const message = 'The ServiceCIDR Status can not be set to Ready=True';
  const warning = { source: 'service-cidr-controller', reason: 'KubernetesServiceCIDRError', message };
  return warningEvent({ ...warning, about: range, value: 'ready' }, at);
}

/** The Event of a warning about a member of etcd, whose object is the member's ComponentStatus. */
export function storageEvent({ member, reason, message }: StorageWarning, at: string): Event & KubeObject {
  const about = { apiVersion: 'v1', kind: 'ComponentStatus', metadata: { name: member } };
  return warningEvent({ about, source: 'kube-apiserver', reason, message: `${member} ${message}`, value: '' }, at);
}

/**
 * Creates an Event once per object, reason and value, while the Event is stored. If the Event is rejected, for example in a terminating
 * namespace or by a quota, or if that takes longer than 5 s, that is only logged.
 */
export async function recordWarning(
  {
    client,
    clock,
    logger,
  }: { readonly client: Pick<LoopbackClient, 'get' | 'create'>; readonly clock: Clock; readonly logger: Logger },
  event: Event & KubeObject,
  signal: AbortSignal,
): Promise<'recorded' | 'rejected'> {
  const { kind, namespace, name } = event.involvedObject;
  const about = { kind, object: namespace === undefined ? name : `${namespace}/${name}` };
  using limited = withDeadline(clock, signal, RECORD_MS);
  try {
    if ((await client.get(EVENTS, event.metadata, 'cached', limited)) !== undefined) return 'recorded';
    logger.warn(about, event.message ?? '');
    await client.create(EVENTS, event, limited);
    return 'recorded';
  } catch (error) {
    if (signal.aborted) throw error;
    logger.warn({ ...about, reason: errorMessage(error) }, 'cannot record the Event');
    return 'rejected';
  }
}

interface Warning {
  readonly about: KubeObject;
  readonly source: string;
  readonly reason: string;
  readonly message: string;
  readonly value: string;
}

function warningEvent({ about, source, reason, message, value }: Warning, at: string): Event & KubeObject {
  const { namespace, name = '', uid = '', resourceVersion = '' } = about.metadata;
  const { apiVersion, kind } = about;
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: {
      name: [name, uid.slice(0, 8), value.replaceAll(':', '-'), reason.toLowerCase()]
        .filter((part) => part !== '')
        .join('.'),
      namespace: namespace ?? 'default',
    },
    involvedObject: { apiVersion, kind, namespace, name, uid, resourceVersion },
    type: 'Warning',
    reason,
    message,
    source: { component: source },
    firstTimestamp: at,
    lastTimestamp: at,
    count: 1,
  };
}
