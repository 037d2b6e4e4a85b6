import type { EndpointSlice, Ingress, IngressBackend, IngressClass, Service, ServicePort } from '@gantry/objects';

/** Objects for tests. */

export const OURS: IngressClass = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'IngressClass',
  metadata: { name: 'gantry' },
  spec: { controller: 'gantry.dev/ingress' },
};

/** An Ingress with a smaller `age` is older. */
export function ingress(key: string, spec: Ingress['spec'] & object, age = 0): Ingress {
  const [namespace = '', name = ''] = key.split('/');
  const creationTimestamp = `2030-01-02T03:04:${String(age).padStart(2, '0')}Z`;
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { namespace, name, uid: key, generation: 1, creationTimestamp },
    spec: { ingressClassName: 'gantry', ...spec },
  };
}

/** `web:80` uses a port number, `web:http` a port name. */
export function backend(text: string): IngressBackend {
  const [name = '', port = ''] = text.split(':');
  return { service: { name, port: /^\d+$/.test(port) ? { number: Number(port) } : { name: port } } };
}

/** Parses for example `Exact /a web:80`. */
export function path(text: string): {
  readonly path: string;
  readonly pathType: string;
  readonly backend: IngressBackend;
} {
  const [pathType = '', at = '', to = ''] = text.split(' ');
  return { path: at, pathType, backend: backend(to) };
}

export function rule(
  host: string,
  ...paths: readonly string[]
): {
  readonly host: string;
  readonly http: { readonly paths: ReturnType<typeof path>[] };
} {
  return { host, http: { paths: paths.map(path) } };
}

export function service(key: string, ports: ServicePort[], more: Service['spec'] & object = {}): Service {
  const [namespace = '', name = ''] = key.split('/');
  return { apiVersion: 'v1', kind: 'Service', metadata: { namespace, name }, spec: { ports, ...more } };
}

/** Endpoints have the form `10.128.4.1`. With `!` an endpoint is not ready, with `~` it serves while it terminates. */
export function slice(key: string, endpoints: readonly string[], port = 8080, portName = 'http'): EndpointSlice {
  const [namespace = '', name = ''] = key.split('/');
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace, name: `${name}-1`, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    ports: [{ name: portName, port, protocol: 'TCP' }],
    endpoints: endpoints.map((text) => ({
      addresses: [text.replace(/[!~]$/, '')],
      conditions: {
        ready: !/[!~]$/.test(text),
        serving: !text.endsWith('!'),
        terminating: text.endsWith('~'),
      },
    })),
  };
}
