import { NOT_GIVEN, type Settings } from './choose-settings.ts';

const NAMES = {
  clusterId: 'GANTRY_CLUSTER_ID',
  port: 'GANTRY_PORT',
  ingressHttpPort: 'GANTRY_INGRESS_HTTP_PORT',
  ingressHttpsPort: 'GANTRY_INGRESS_HTTPS_PORT',
  consolePort: 'GANTRY_CONSOLE_PORT',
  controlCidr: 'GANTRY_CONTROL_CIDR',
  podCidr: 'GANTRY_POD_CIDR',
  podServicesRange: 'GANTRY_POD_SERVICES_RANGE',
  serviceCidr: 'GANTRY_SERVICE_CIDR',
  controlBridge: 'GANTRY_CONTROL_BRIDGE',
  podBridge: 'GANTRY_POD_BRIDGE',
  hostAddress: 'GANTRY_HOST_ADDRESS',
  clusterCidr: 'GANTRY_CLUSTER_CIDR',
  joinGrpcPort: 'GANTRY_JOIN_GRPC_PORT',
} as const satisfies Record<keyof Settings, string>;

/** Settings that may be empty, or that files of earlier versions lack. Ports of Ingresses and the console are 0 until `up` chooses them. */
const OPTIONAL: readonly (keyof Settings)[] = [
  'ingressHttpPort',
  'ingressHttpsPort',
  'consolePort',
  'hostAddress',
  'clusterCidr',
  'joinGrpcPort',
];

const HEADER =
  '# Chosen for this checkout by `npm run up`, read by docker-compose.yml. `up` keeps the variables that you add.\n';

/** Formats settings as an environment file of Compose, and then other variables. A setting takes precedence over a variable of its name. */
export function formatSettings(settings: Settings, others: Readonly<Record<string, string>>): string {
  const own = Object.fromEntries(Object.entries(NAMES).map(([key, name]) => [name, settings[key as keyof Settings]]));
  return `${HEADER}${formatVariables({ ...own, ...others, ...own })}`;
}

/** The inverse of `variablesIn`. */
export function formatVariables(variables: Readonly<Record<string, string | number>>): string {
  return `${Object.entries(variables)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')}\n`;
}

/** The inverse of `formatSettings`; undefined when a value is missing. */
export function parseSettings(text: string): Settings | undefined {
  const values = variablesIn(text);
  const of = (key: keyof Settings) => values[NAMES[key]] ?? '';
  const required = (Object.keys(NAMES) as (keyof Settings)[]).filter((key) => !OPTIONAL.includes(key));
  if (required.some((key) => of(key) === '')) return undefined;
  return {
    clusterId: of('clusterId'),
    port: Number(of('port')),
    ingressHttpPort: Number(of('ingressHttpPort')),
    ingressHttpsPort: Number(of('ingressHttpsPort')),
    consolePort: Number(of('consolePort')),
    controlCidr: of('controlCidr'),
    podCidr: of('podCidr'),
    podServicesRange: of('podServicesRange'),
    serviceCidr: of('serviceCidr'),
    controlBridge: of('controlBridge'),
    podBridge: of('podBridge'),
    hostAddress: of('hostAddress'),
    clusterCidr: of('clusterCidr'),
    joinGrpcPort: Number(of('joinGrpcPort')) || NOT_GIVEN.joinGrpcPort,
  };
}

/** The variables of an environment file of Compose. */
export function variablesIn(text: string): Readonly<Record<string, string>> {
  const lines = text.split('\n').filter((line) => line.includes('=') && !line.startsWith('#'));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1).trim()]),
  );
}
