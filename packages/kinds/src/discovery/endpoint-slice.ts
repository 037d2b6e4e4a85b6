import { append } from '@gantry/base';
import {
  type DiscoveryEndpointPort,
  dns1123Label,
  dns1123Subdomain,
  duplicate,
  type Endpoint,
  ENDPOINT_SLICES,
  type EndpointHints,
  type EndpointSlice,
  equalJson,
  type FieldError,
  invalid,
  labelValue,
  oneOf,
  qualifiedName,
  repeatedAt,
  required,
  SLICE_MANAGER_LABEL,
} from '@gantry/objects';
import {
  describedAs,
  ageColumn,
  column,
  defineResource,
  immutable,
  invalidAll,
  nameColumn,
} from '@gantry/apimachinery';
import { ipFamily, ipWarnings, validateCanonicalIp, validateEndpointIp, validateIp } from '../fields/ip.ts';
import { tooMany } from '../fields/bounded-lists.ts';

const ADDRESS_TYPES = ['FQDN', 'IPv4', 'IPv6'];
const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];
const MAX_ADDRESSES = 100;
const MAX_PORTS = 20_000;
const MAX_ENDPOINTS = 1000;
const MAX_HINTS = 8;
const SHOWN = 3;
const OWN_MANAGERS = ['endpointslice-controller.k8s.io', 'endpointslicemirroring-controller.k8s.io'];

function applyDefaults(object: EndpointSlice): void {
  for (const port of object.ports ?? []) {
    port.name ??= '';
    port.protocol ??= 'TCP';
  }
}

/** Topology labels are deprecated; only unchanged stored endpoints keep them. */
function dropTopology(object: EndpointSlice, old?: EndpointSlice): void {
  if (old !== undefined && equalJson(object.endpoints ?? [], old.endpoints ?? [])) return;
  for (const endpoint of object.endpoints ?? []) delete endpoint.deprecatedTopology;
}

function prepareForCreate(object: EndpointSlice): void {
  object.metadata.generation = 1;
  dropTopology(object);
}

/** Labels determine the use of a slice, so a change of labels raises the generation. */
function prepareForUpdate(object: EndpointSlice, old: EndpointSlice): void {
  const changes = { ...object, metadata: { labels: object.metadata.labels ?? {} } };
  if (!equalJson(changes, { ...old, metadata: { labels: old.metadata.labels ?? {} } })) {
    object.metadata.generation = (old.metadata.generation ?? 0) + 1;
  }
  dropTopology(object, old);
}

function validate({ addressType = '', ...slice }: EndpointSlice): FieldError[] {
  const ports = slice.ports ?? [];
  const errors: FieldError[] = [];
  if (addressType === '') errors.push(required('addressType'));
  else append(errors, oneOf('addressType', addressType, ADDRESS_TYPES));
  if (ports.length > MAX_PORTS) return [...errors, tooMany('ports', ports.length, MAX_PORTS)];
  const isRepeated = repeatedAt(ports.map(({ name = '' }) => name));
  return [...errors, ...ports.flatMap((port, i) => validatePort(port, `ports[${i}]`, isRepeated(i)))];
}

function validatePort(port: DiscoveryEndpointPort, path: string, isRepeated: boolean): FieldError[] {
  const { name = '', protocol, appProtocol } = port;
  const errors = name === '' ? [] : invalidAll(`${path}.name`, name, dns1123Label(name));
  if (isRepeated) errors.push(duplicate(`${path}.name`, name));
  if (protocol === undefined) errors.push(required(`${path}.protocol`));
  else append(errors, oneOf(`${path}.protocol`, protocol, PROTOCOLS));
  if (appProtocol !== undefined) {
    append(errors, invalidAll(`${path}.appProtocol`, appProtocol, qualifiedName(appProtocol)));
  }
  return errors;
}

function validateEndpoints({ addressType, ...slice }: EndpointSlice): FieldError[] {
  const endpoints = slice.endpoints ?? [];
  if (endpoints.length > MAX_ENDPOINTS) return [tooMany('endpoints', endpoints.length, MAX_ENDPOINTS)];
  return endpoints.flatMap((endpoint, i) => validateEndpoint(endpoint, addressType, `endpoints[${i}]`));
}

function validateEndpoint(endpoint: Endpoint, addressType: string, path: string): FieldError[] {
  const { nodeName, hostname, hints } = endpoint;
  const addresses = endpoint.addresses ?? [];
  const at = `${path}.addresses`;
  const errors: FieldError[] = [];
  if (addresses.length === 0) errors.push(required(at, 'must contain at least 1 address'));
  else if (addresses.length > MAX_ADDRESSES) errors.push(tooMany(at, addresses.length, MAX_ADDRESSES));
  addresses.forEach((address, i) => {
    append(errors, validateAddress(address, addressType, at, `${at}[${i}]`));
  });
  if (nodeName !== undefined) append(errors, invalidAll(`${path}.nodeName`, nodeName, dns1123Subdomain(nodeName)));
  if (hostname !== undefined) append(errors, invalidAll(`${path}.hostname`, hostname, dns1123Label(hostname)));
  return hints === undefined ? errors : [...errors, ...validateHints(hints, `${path}.hints`)];
}

function validateAddress(address: string, addressType: string, list: string, path: string): FieldError[] {
  if (addressType === 'FQDN') return validateDomain(address, path);
  if (addressType !== 'IPv4' && addressType !== 'IPv6') return [];
  const malformed = addressType === 'IPv4' ? validateIp(address, path) : validateCanonicalIp(address, path);
  if (malformed.length > 0) return malformed;
  return [
    ...(ipFamily(address) === addressType ? [] : [invalid(list, address, `must be an ${addressType} address`)]),
    ...validateEndpointIp(address, path),
  ];
}

function validateDomain(address: string, path: string): FieldError[] {
  if (address === '') return [required(path)];
  const name = address.replace(/\.$/, '');
  const wrong = dns1123Subdomain(name);
  if (wrong.length > 0) return [invalid(path, name, wrong.join(','))];
  const labels = name.split('.');
  if (labels.length < 2) {
    return [invalid(path, name, 'should be a domain with at least two segments separated by dots')];
  }
  const label = labels.find((text) => dns1123Label(text).length > 0);
  return label === undefined ? [] : [invalid(path, label, dns1123Label(label).join(','))];
}

function validateHints({ forZones = [], forNodes = [] }: EndpointHints, path: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const [field, all, check] of [
    ['forZones', forZones, labelValue],
    ['forNodes', forNodes, dns1123Subdomain],
  ] as const) {
    if (all.length > MAX_HINTS) return [...errors, tooMany(`${path}.${field}`, all.length, MAX_HINTS)];
    all.forEach(({ name = '' }, i) => {
      const at = `${path}.${field}[${i}].name`;
      if (all.findIndex((other) => (other.name ?? '') === name) < i) errors.push(duplicate(at, name));
      append(errors, invalidAll(at, name, check(name)));
    });
  }
  return errors;
}

function warnings({ metadata, addressType, endpoints }: EndpointSlice, old?: EndpointSlice): string[] {
  const texts = old === undefined && addressType === 'FQDN' ? ['spec.addressType: FQDN endpoints are deprecated'] : [];
  if (OWN_MANAGERS.includes(metadata.labels?.[SLICE_MANAGER_LABEL] ?? '')) return texts;
  return [
    ...texts,
    ...(endpoints ?? []).flatMap(({ addresses }, i) =>
      (addresses ?? []).flatMap((address, j) => ipWarnings(address, `endpoints[${i}].addresses[${j}]`)),
    ),
  ];
}

function list(items: readonly string[]): string {
  if (items.length === 0) return '<unset>';
  const shown = items.slice(0, SHOWN).join(',');
  return items.length > SHOWN ? `${shown} + ${items.length - SHOWN} more...` : shown;
}

export const endpointSlices = defineResource(ENDPOINT_SLICES, {
  schema: 'discovery.v1.EndpointSlice',
  strategy: {
    applyDefaults,
    prepareForCreate,
    prepareForUpdate,
    validate,
    validateCreate: validateEndpoints,
    // Unchanged endpoints from older rules remain valid.
    validateUpdate: (object, old) => [
      ...(equalJson(object.endpoints ?? [], old.endpoints ?? []) ? [] : validateEndpoints(object)),
      ...immutable('addressType', object.addressType, old.addressType),
    ],
    warnings,
    metadataOnUpdate: 'object',
  },
  columns: [
    nameColumn,
    column('AddressType', describedAs('discovery.v1.EndpointSlice', 'addressType'), (object) => object.addressType),
    column('Ports', describedAs('discovery.v1.EndpointSlice', 'ports'), ({ ports }) =>
      list((ports ?? []).map(({ port, name }) => String(port ?? name ?? '*'))),
    ),
    column('Endpoints', describedAs('discovery.v1.EndpointSlice', 'endpoints'), ({ endpoints }) =>
      list((endpoints ?? []).flatMap(({ addresses }) => addresses ?? [])),
    ),
    ageColumn,
  ],
});
