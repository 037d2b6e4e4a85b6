import type { IngressBackend, Service, ServicePort } from '@gantry/objects';

/** A port of a Service that routes lead to. */
export interface Backend {
  readonly namespace: string;
  readonly service: string;
  /** The name of the port, which gives its number in slices. Empty for a port without a name. */
  readonly port: string;
  readonly protocol: BackendProtocol;
}

/** The protocol to endpoints: HTTP/1.1, HTTP/2 without TLS, or HTTP/1.1 over TLS whose certificate is not checked. */
export type BackendProtocol = 'http' | 'h2c' | 'https';

/** The reason and message of an Event about a backend of an Ingress that is not served. */
export interface Refusal {
  readonly reason: string;
  readonly message: string;
}

/** Returns the unique name of a backend. */
export function backendId({ namespace, service, port, protocol }: Backend): string {
  return `${namespace}/${service}/${port}/${protocol}`;
}

const PROTOCOLS: Readonly<Record<string, BackendProtocol>> = {
  'kubernetes.io/h2c': 'h2c',
  https: 'https',
  'kubernetes.io/wss': 'https',
};

/** Finds the Service's port for a backend of an Ingress, by number or by name. */
export function findBackend(
  namespace: string,
  backend: IngressBackend,
  serviceOf: (namespace: string, name: string) => Service | undefined,
): Backend | Refusal {
  const { name = '', port } = backend.service ?? {};
  if (backend.service === undefined) {
    return { reason: 'ResourceBackend', message: 'backends other than Services are not supported' };
  }
  const service = serviceOf(namespace, name);
  if (service === undefined) {
    return { reason: 'ServiceNotFound', message: `the Service ${JSON.stringify(name)} does not exist` };
  }
  if (service.spec?.type === 'ExternalName') {
    const message = `the Service ${JSON.stringify(name)} is of type ExternalName, whose names could lead anywhere`;
    return { reason: 'ExternalNameService', message };
  }
  const found = (service.spec?.ports ?? []).find((candidate) => isPort(candidate, port ?? {}));
  if (found === undefined) {
    const wanted = port?.name ?? String(port?.number ?? '');
    const message = `the Service ${JSON.stringify(name)} has no TCP port ${JSON.stringify(wanted)}`;
    return { reason: 'ServicePortNotFound', message };
  }
  return { namespace, service: name, port: found.name ?? '', protocol: PROTOCOLS[found.appProtocol ?? ''] ?? 'http' };
}

function isPort(
  candidate: ServicePort,
  { name, number }: { readonly name?: string; readonly number?: number },
): boolean {
  if ((candidate.protocol ?? 'TCP') !== 'TCP') return false;
  return name === undefined || name === '' ? candidate.port === number : candidate.name === name;
}
