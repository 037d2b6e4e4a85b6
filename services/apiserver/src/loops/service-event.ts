import type { Event, KubeObject, Service } from '@gantry/objects';

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
      name: `${name}.${uid.slice(0, 8)}.${value.replaceAll(':', '-')}.${reason.toLowerCase()}`,
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
