import type { Pod, Service } from '@gantry/objects';

/** The Service of the API servers. Every pod gets its variables, in any namespace. */
const API_SERVICE = 'kubernetes';
/** The namespace of that Service. */
export const API_NAMESPACE = 'default';

/**
 * The variables of Services for a pod's containers (pkg/kubelet/envvars): of the Services in its namespace, unless `enableServiceLinks`
 * is false, and always of the API servers' Service. Headless Services have none.
 */
export function serviceVariables(pod: Pod, services: readonly Service[]): Readonly<Record<string, string>> {
  const { namespace = '' } = pod.metadata;
  const isApi = ({ metadata }: Service) => metadata.namespace === API_NAMESPACE && metadata.name === API_SERVICE;
  const hasLinks = pod.spec?.enableServiceLinks !== false;
  // A Service of the same name in the pod's own namespace overrides the API servers' one.
  const own = services.filter((service) => !isApi(service) && service.metadata.namespace === namespace && hasLinks);
  const variables: Record<string, string> = {};
  for (const service of [...services.filter(isApi), ...own]) Object.assign(variables, variablesOf(service));
  return variables;
}

function variablesOf({ metadata, spec }: Service): Readonly<Record<string, string>> {
  const { clusterIP = '', ports = [] } = spec ?? {};
  const [first] = ports;
  if (clusterIP === '' || clusterIP === 'None' || first === undefined) return {};
  const prefix = variableName(metadata.name ?? '');
  const host = clusterIP.includes(':') ? `[${clusterIP}]` : clusterIP;
  const url = (port: number, protocol = 'TCP') => `${protocol.toLowerCase()}://${host}:${port}`;
  const variables: Record<string, string> = {
    [`${prefix}_SERVICE_HOST`]: clusterIP,
    [`${prefix}_SERVICE_PORT`]: String(first.port),
    [`${prefix}_PORT`]: url(first.port, first.protocol),
  };
  for (const { name = '', port, protocol = 'TCP' } of ports) {
    if (name !== '') variables[`${prefix}_SERVICE_PORT_${variableName(name)}`] = String(port);
    const link = `${prefix}_PORT_${port}_${protocol.toUpperCase()}`;
    variables[link] = url(port, protocol);
    variables[`${link}_PROTO`] = protocol.toLowerCase();
    variables[`${link}_PORT`] = String(port);
    variables[`${link}_ADDR`] = clusterIP;
  }
  return variables;
}

function variableName(name: string): string {
  return name.replaceAll('-', '_').toUpperCase();
}

/** The variables of the API servers' Service, which every pod gets. */
export function apiServerVariables(address: string, port: number): Readonly<Record<string, string>> {
  const url = `tcp://${address}:${port}`;
  return {
    KUBERNETES_SERVICE_HOST: address,
    KUBERNETES_SERVICE_PORT: String(port),
    KUBERNETES_SERVICE_PORT_HTTPS: String(port),
    KUBERNETES_PORT: url,
    [`KUBERNETES_PORT_${port}_TCP`]: url,
    [`KUBERNETES_PORT_${port}_TCP_PROTO`]: 'tcp',
    [`KUBERNETES_PORT_${port}_TCP_PORT`]: String(port),
    [`KUBERNETES_PORT_${port}_TCP_ADDR`]: address,
  };
}
