import { append } from '@gantry/base';
import {
  ENDPOINTS,
  type EndpointAddress,
  type EndpointPort,
  type EndpointSubset,
  type Endpoints,
  type FieldError,
  dns1123Label,
  dns1123Subdomain,
  equalJson,
  portNumber,
  qualifiedName,
  required,
  ENDPOINTS_MANAGER_LABEL,
  oneOf,
} from '@gantry/objects';
import { describedAs, ageColumn, column, defineResource, invalidAll, nameColumn } from '@gantry/apimachinery';
import { ipFamily, ipWarnings, validateEndpointIp, validateIp } from '../fields/ip.ts';

const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];
const SHOWN = 3;

function applyDefaults(object: Endpoints): void {
  for (const port of (object.subsets ?? []).flatMap(({ ports = [] }) => ports)) {
    if ((port.protocol ?? '') === '') port.protocol = 'TCP';
  }
}

function validateSubsets(subsets: readonly EndpointSubset[]): FieldError[] {
  return subsets.flatMap(({ addresses = [], notReadyAddresses = [], ports = [] }, i) => {
    const path = `subsets[${i}]`;
    return [
      ...(addresses.length + notReadyAddresses.length === 0
        ? [required(path, 'must specify `addresses` or `notReadyAddresses`')]
        : []),
      ...addresses.flatMap((address, j) => validateAddress(address, `${path}.addresses[${j}]`)),
      ...notReadyAddresses.flatMap((address, j) => validateAddress(address, `${path}.notReadyAddresses[${j}]`)),
      ...ports.flatMap((port, j) => validatePort(port, ports.length > 1, `${path}.ports[${j}]`)),
    ];
  });
}

function validateAddress({ ip = '', hostname = '', nodeName }: EndpointAddress, path: string): FieldError[] {
  return [
    ...validateIp(ip, `${path}.ip`),
    ...(hostname === '' ? [] : invalidAll(`${path}.hostname`, hostname, dns1123Label(hostname))),
    ...(nodeName === undefined ? [] : invalidAll(`${path}.nodeName`, nodeName, dns1123Subdomain(nodeName))),
    ...validateEndpointIp(ip, `${path}.ip`),
  ];
}

function validatePort(port: EndpointPort, needsName: boolean, path: string): FieldError[] {
  const { name = '', port: number = 0, protocol = '', appProtocol } = port;
  const errors = name === '' ? [] : invalidAll(`${path}.name`, name, dns1123Label(name));
  if (needsName && name === '') errors.push(required(`${path}.name`));
  append(errors, invalidAll(`${path}.port`, number, portNumber(number)));
  if (protocol === '') errors.push(required(`${path}.protocol`));
  else append(errors, oneOf(`${path}.protocol`, protocol, PROTOCOLS));
  if (appProtocol !== undefined) {
    append(errors, invalidAll(`${path}.appProtocol`, appProtocol, qualifiedName(appProtocol)));
  }
  return errors;
}

function warnings({ metadata, subsets = [] }: Endpoints): string[] {
  if (metadata.labels?.[ENDPOINTS_MANAGER_LABEL] === 'endpoint-controller') return [];
  return subsets.flatMap((subset, i) =>
    (['addresses', 'notReadyAddresses'] as const).flatMap((field) =>
      (subset[field] ?? []).flatMap(({ ip }, j) => ipWarnings(ip, `subsets[${i}].${field}[${j}].ip`)),
    ),
  );
}

/** The first addresses with their ports, and the number of further ones. */
function addressList({ subsets = [] }: Endpoints): string {
  if (subsets.length === 0) return '<none>';
  const all = subsets.flatMap(({ addresses = [], ports = [] }) =>
    ports.length === 0
      ? addresses.map(({ ip }) => ip)
      : ports.flatMap(({ port }) =>
          addresses.map(({ ip }) => (ipFamily(ip) === 'IPv6' ? `[${ip}]:${port}` : `${ip}:${port}`)),
        ),
  );
  const shown = all.slice(0, SHOWN).join(',');
  return all.length > SHOWN ? `${shown} + ${all.length - SHOWN} more...` : shown;
}

export const endpoints = defineResource(ENDPOINTS, {
  shortNames: ['ep'],
  schema: 'core.v1.Endpoints',
  requestWarnings: ['v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice'],
  strategy: {
    applyDefaults,
    validateCreate: ({ subsets = [] }) => validateSubsets(subsets),
    // Unchanged addresses from older rules remain valid.
    validateUpdate: ({ subsets = [] }, old) => (equalJson(subsets, old.subsets ?? []) ? [] : validateSubsets(subsets)),
    warnings,
    allowCreateOnUpdate: true,
  },
  columns: [nameColumn, column('Endpoints', describedAs('core.v1.Endpoints', 'subsets'), addressList), ageColumn],
});
