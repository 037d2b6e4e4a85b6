import { append } from '@gantry/base';
import {
  dns1123Label,
  dns1123Subdomain,
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  OLD_TOPOLOGY_MODE_ANNOTATION,
  oneOf,
  portNumber,
  qualifiedName,
  repeatedAt,
  required,
  type Service,
  type ServicePort,
  type ServiceSpec,
  TOPOLOGY_MODE_ANNOTATION,
} from '@gantry/objects';
import { invalidAll, unsupported, validateLabels } from '@gantry/apimachinery';
import { validateCidr, validateEndpointIp, validateIp } from '../../fields/ip.ts';
import { validatePortReference } from '../../pod-spec/probes.ts';
import { isHeadless, validateClusterIps } from './ips.ts';

const SOURCE_RANGES = 'service.beta.kubernetes.io/load-balancer-source-ranges';

/** Two annotations with the same meaning must have the same value. */
function validateTopology({ metadata: { annotations = {} } }: Service): FieldError[] {
  const { [OLD_TOPOLOGY_MODE_ANNOTATION]: hints, [TOPOLOGY_MODE_ANNOTATION]: mode } = annotations;
  if (hints === undefined || mode === undefined || hints === mode) return [];
  const detail = `must match annotations[${OLD_TOPOLOGY_MODE_ANNOTATION}] when both are specified`;
  return [invalid(`metadata.annotations[${TOPOLOGY_MODE_ANNOTATION}]`, mode, detail)];
}

/** Checks the annotation with the source ranges of a load balancer, which applies if the field is empty. Stored values may stay. */
function validateSourceRangesAnnotation({ metadata, spec }: Service, old?: Service): FieldError[] {
  const value = metadata.annotations?.[SOURCE_RANGES];
  if (value === undefined || (spec?.loadBalancerSourceRanges ?? []).length > 0) return [];
  const path = `metadata.annotations[${SOURCE_RANGES}]`;
  const errors: FieldError[] = [];
  if (spec?.type !== 'LoadBalancer') errors.push(forbidden(path, "may only be used when `type` is 'LoadBalancer'"));
  if (value.trim() === '' || old?.metadata.annotations?.[SOURCE_RANGES] === value) return errors;
  return [...errors, ...value.split(',').flatMap((range) => validateCidr(range.trim(), path))];
}

const TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
const AFFINITIES = ['ClientIP', 'None'];
/** Policies for external and internal traffic. */
export const POLICIES: readonly string[] = ['Cluster', 'Local'];
const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];
const DISTRIBUTIONS = ['PreferClose', 'PreferSameZone', 'PreferSameNode'];
const MAX_AFFINITY_SECONDS = 86400;
const ONLY_LOAD_BALANCER = "may only be used when `type` is 'LoadBalancer'";

/** Whether traffic from outside the cluster can enter through the service itself. */
export function isExternallyAccessible(spec: ServiceSpec): boolean {
  return (
    spec.type === 'LoadBalancer' ||
    spec.type === 'NodePort' ||
    (spec.type === 'ClusterIP' && (spec.externalIPs ?? []).length > 0)
  );
}

/** Whether load balancers use a separate health check port to find nodes with a pod. */
export function needsHealthCheckPort(spec: ServiceSpec): boolean {
  return spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';
}

/** Checks a service with allocated addresses and ports, in Kubernetes' order. */
export function validateService(object: Service, old?: Service): FieldError[] {
  const { spec = {} } = object;
  return [
    ...validateTopology(object),
    ...validateByType(spec),
    ...validatePorts(spec),
    ...validateLabels(spec.selector, 'spec.selector'),
    ...validateSessionAffinity(spec),
    ...validateClusterIps(spec),
    ...(spec.externalIPs ?? []).flatMap((address, i) => validateExternalIp(address, `spec.externalIPs[${i}]`)),
    ...validateType(spec),
    ...validateDistinctPorts(spec, old?.spec),
    ...validateSourceRanges(spec),
    ...validateSourceRangesAnnotation(object, old),
    ...validateLoadBalancer(spec),
    ...validateTrafficPolicies(spec),
  ];
}

function validateByType(spec: ServiceSpec): FieldError[] {
  const ports = spec.ports ?? [];
  const errors: FieldError[] = [];
  if (ports.length === 0 && !isHeadless(spec) && spec.type !== 'ExternalName') errors.push(required('spec.ports'));
  if ((spec.type === 'LoadBalancer' || spec.type === 'NodePort') && isHeadless(spec)) {
    errors.push(invalid('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${spec.type} services`));
  }
  return spec.type === 'ExternalName' ? [...errors, ...validateExternalName(spec)] : errors;
}

function validateExternalName(spec: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  const unused = 'may not be set for ExternalName services';
  if ((spec.clusterIPs ?? []).length > 0) errors.push(forbidden('spec.clusterIPs', unused));
  if ((spec.ipFamilies ?? []).length > 0) errors.push(forbidden('spec.ipFamilies', unused));
  if (spec.ipFamilyPolicy !== undefined) errors.push(forbidden('spec.ipFamilyPolicy', unused));
  const name = (spec.externalName ?? '').replace(/\.$/, '');
  if (name === '') errors.push(required('spec.externalName'));
  else append(errors, invalidAll('spec.externalName', name, dns1123Subdomain(name)));
  return errors;
}

function validatePorts(spec: ServiceSpec): FieldError[] {
  const ports = spec.ports ?? [];
  const names = new Set<string>();
  return ports.flatMap((port, i) => {
    const at = `spec.ports[${i}]`;
    const { name = '', protocol = '', appProtocol } = port;
    const errors: FieldError[] = [];
    if (name === '' && ports.length > 1) errors.push(required(`${at}.name`));
    if (name !== '') {
      append(errors, invalidAll(`${at}.name`, name, dns1123Label(name)));
      if (names.has(name)) errors.push(duplicate(`${at}.name`, name));
      names.add(name);
    }
    append(errors, invalidAll(`${at}.port`, port.port ?? 0, portNumber(port.port ?? 0)));
    if (protocol === '') errors.push(required(`${at}.protocol`));
    else append(errors, oneOf(`${at}.protocol`, protocol, PROTOCOLS));
    append(errors, validatePortReference(port.targetPort, `${at}.targetPort`));
    if (appProtocol !== undefined) {
      append(errors, invalidAll(`${at}.appProtocol`, appProtocol, qualifiedName(appProtocol)));
    }
    return errors;
  });
}

function validateSessionAffinity({ sessionAffinity = '', sessionAffinityConfig }: ServiceSpec): FieldError[] {
  const path = 'spec.sessionAffinityConfig';
  const errors: FieldError[] = [];
  if (sessionAffinity === '') errors.push(required('spec.sessionAffinity'));
  else append(errors, oneOf('spec.sessionAffinity', sessionAffinity, AFFINITIES));
  if (sessionAffinity === 'None' && sessionAffinityConfig !== undefined) {
    errors.push(forbidden(path, 'must not be set when session affinity is None'));
  }
  if (sessionAffinity !== 'ClientIP') return errors;
  const when = 'when session affinity type is ClientIP';
  const seconds = sessionAffinityConfig?.clientIP?.timeoutSeconds;
  if (sessionAffinityConfig === undefined) errors.push(required(path, when));
  else if (sessionAffinityConfig.clientIP === undefined) errors.push(required(`${path}.clientIP`, when));
  else if (seconds === undefined) errors.push(required(`${path}.clientIP.timeoutSeconds`, when));
  else if (seconds <= 0 || seconds > MAX_AFFINITY_SECONDS) {
    const detail = `must be greater than 0 and less than ${MAX_AFFINITY_SECONDS}`;
    errors.push(invalid(`${path}.clientIP.timeoutSeconds`, seconds, detail));
  }
  return errors;
}

function validateExternalIp(address: string, path: string): FieldError[] {
  const malformed = validateIp(address, path);
  if (malformed.length > 0) return malformed;
  return validateEndpointIp(address, path);
}

function validateType({ type = '', ports }: ServiceSpec): FieldError[] {
  if (type === '') return [required('spec.type')];
  if (!TYPES.includes(type)) return [notSupported('spec.type', type, TYPES)];
  if (type !== 'ClusterIP') return [];
  return (ports ?? []).flatMap(({ nodePort = 0 }, i) =>
    nodePort === 0 ? [] : [forbidden(`spec.ports[${i}].nodePort`, "may not be used when `type` is 'ClusterIP'")],
  );
}

/**
 * Reports the first of two ports of a new Service that request the same node port with different port numbers. Kubernetes allocates
 * requested node ports in the order of the ports (`initNodePorts`) before any other check, and reports only the first conflict.
 */
export function validateAskedNodePorts({ type, ports = [] }: ServiceSpec): FieldError[] {
  if (type !== 'NodePort' && type !== 'LoadBalancer') return [];
  const firstAsked = new Map<number, number>();
  for (const { port, nodePort = 0 } of ports)
    if (nodePort !== 0 && !firstAsked.has(port)) firstAsked.set(port, nodePort);
  const byNumber = new Map<number, number>();
  const taken = new Set<number>();
  for (const [i, { port, nodePort = 0 }] of ports.entries()) {
    const known = byNumber.get(port);
    const asked = known === undefined ? (firstAsked.get(port) ?? 0) : nodePort;
    if (asked === 0 || asked === known) continue;
    if (taken.has(asked)) return [invalid(`spec.ports[${i}].nodePort`, asked, 'provided port is already allocated')];
    taken.add(asked);
    if (known === undefined) byNumber.set(port, asked);
  }
  return [];
}

/** The first port that Kubernetes would allot in a dry run. */
const FIRST_ALLOTTED = 32769;

/**
 * Node ports after allocation, which Kubernetes performs before validation: in a new Service, ports with the same number get the same node
 * port.
 */
function allottedPorts({ ports = [], ...spec }: ServiceSpec, isNew: boolean): readonly ServicePort[] {
  const allots =
    spec.type === 'NodePort' || (spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false);
  if (!allots) return ports;
  const byNumber = new Map<number, number>();
  let next = ports.reduce((highest, { nodePort = 0 }) => Math.max(highest, nodePort + 1), FIRST_ALLOTTED);
  for (const { port, nodePort = 0 } of ports) if (nodePort !== 0 && !byNumber.has(port)) byNumber.set(port, nodePort);
  return ports.map((one) => {
    if ((one.nodePort ?? 0) !== 0) return one;
    const nodePort = (isNew ? byNumber.get(one.port) : undefined) ?? next++;
    byNumber.set(one.port, nodePort);
    return { ...one, nodePort };
  });
}

function validateDistinctPorts(spec: ServiceSpec, old: ServiceSpec | undefined): FieldError[] {
  const ports = allottedPorts(spec, old === undefined);
  const errors: FieldError[] = [];
  const isNodePortRepeated = repeatedAt(ports.map(({ nodePort, protocol }) => `${nodePort ?? 0}/${protocol ?? ''}`));
  const isPortRepeated = repeatedAt(ports.map(({ port, protocol }) => `${port}/${protocol ?? ''}`));
  ports.forEach(({ nodePort = 0 }, i) => {
    if (nodePort !== 0 && isNodePortRepeated(i)) errors.push(duplicate(`spec.ports[${i}].nodePort`, nodePort));
  });
  ports.forEach(({ port, protocol = '' }, i) => {
    if (!isPortRepeated(i)) return;
    const key = { Name: '', Protocol: protocol, AppProtocol: null, Port: port ?? 0, TargetPort: 0, NodePort: 0 };
    errors.push(duplicate(`spec.ports[${i}]`, key));
  });
  return errors;
}

function validateSourceRanges({ type, loadBalancerSourceRanges: ranges = [] }: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  // The capital letter in the path is Kubernetes'.
  const path = 'spec.LoadBalancerSourceRanges';
  if (ranges.length > 0 && type !== 'LoadBalancer') errors.push(forbidden(path, ONLY_LOAD_BALANCER));
  ranges.forEach((range, i) => {
    append(errors, validateCidr(range.trim(), `${path}[${i}]`));
  });
  return errors;
}

function validateLoadBalancer(spec: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  const isLoadBalancer = spec.type === 'LoadBalancer';
  if (spec.allocateLoadBalancerNodePorts !== undefined && !isLoadBalancer) {
    errors.push(forbidden('spec.allocateLoadBalancerNodePorts', ONLY_LOAD_BALANCER));
  }
  if (spec.allocateLoadBalancerNodePorts === undefined && isLoadBalancer) {
    errors.push(required('allocateLoadBalancerNodePorts'));
  }
  return [...errors, ...validateLoadBalancerClass(spec)];
}

/** Checks the class of a load balancer. Kubernetes checks it twice on updates. */
export function validateLoadBalancerClass({ type, loadBalancerClass: className }: ServiceSpec): FieldError[] {
  if (className === undefined) return [];
  const path = 'spec.loadBalancerClass';
  return type === 'LoadBalancer'
    ? invalidAll(path, className, qualifiedName(className))
    : [forbidden(path, ONLY_LOAD_BALANCER)];
}

function validateTrafficPolicies(spec: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  const { externalTrafficPolicy: external = '', internalTrafficPolicy: internal, trafficDistribution } = spec;
  const path = 'spec.externalTrafficPolicy';
  if (!isExternallyAccessible(spec)) {
    if (external !== '') errors.push(invalid(path, external, 'may only be set for externally-accessible services'));
  } else if (external === '') errors.push(required(path));
  else append(errors, oneOf(path, external, POLICIES));
  append(errors, validateHealthCheckPort(spec));
  if (internal === undefined) {
    if (['NodePort', 'LoadBalancer', 'ClusterIP'].includes(spec.type ?? '')) {
      errors.push(required('spec.internalTrafficPolicy'));
    }
  } else append(errors, oneOf('spec.internalTrafficPolicy', internal, POLICIES));
  if (trafficDistribution !== undefined && !DISTRIBUTIONS.includes(trafficDistribution)) {
    errors.push(unsupported('spec.trafficDistribution', trafficDistribution, DISTRIBUTIONS));
  }
  return errors;
}

function validateHealthCheckPort(spec: ServiceSpec): FieldError[] {
  const port = spec.healthCheckNodePort ?? 0;
  const path = 'spec.healthCheckNodePort';
  if (!needsHealthCheckPort(spec)) {
    const detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    return port === 0 ? [] : [invalid(path, port, detail)];
  }
  // Without a port, one is allocated after validation.
  return port === 0 ? [] : invalidAll(path, port, portNumber(port));
}
