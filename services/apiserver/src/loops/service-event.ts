import type { Event, KubeObject, Service } from '@gantry/objects';

/** A warning about what a Service holds. */
export interface ServiceWarning {
  readonly service: Service;
  /** Kubernetes' controller that says so. */
  readonly source: 'ipallocator-repair-controller' | 'portallocator-repair-controller';
  readonly reason: string;
  readonly message: string;
  /** The address or port. */
  readonly value: string;
}

/** The Event of a warning. Its name follows from the warning: of several apiservers, or rounds, that find the same one is stored. */
export function serviceEvent(warning: ServiceWarning, at: string): Event & KubeObject {
  const { service, source, reason, message, value } = warning;
  const { namespace = '', name = '', uid = '', resourceVersion = '' } = service.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${name}.${uid.slice(0, 8)}.${value.replaceAll(':', '-')}.${reason.toLowerCase()}`, namespace },
    involvedObject: { apiVersion: 'v1', kind: 'Service', namespace, name, uid, resourceVersion },
    type: 'Warning',
    reason,
    message,
    source: { component: source },
    firstTimestamp: at,
    lastTimestamp: at,
    count: 1,
  };
}
