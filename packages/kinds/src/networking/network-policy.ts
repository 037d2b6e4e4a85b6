import { append } from '@gantry/base';
import {
  type FieldError,
  type IPBlock,
  NETWORK_POLICIES,
  type NetworkPolicy,
  type NetworkPolicyPeer,
  type NetworkPolicyPort,
  forbidden,
  invalid,
  portName,
  portNumber,
  required,
} from '@gantry/objects';
import {
  ageColumn,
  column,
  defineResource,
  formatLabelSelector,
  invalidAll,
  nameColumn,
  unsupported,
  validateLabelSelector,
} from '@gantry/apimachinery';
import { cidrFamily, cidrWarnings, isStrictSubset, validateCidr } from '../fields/ip.ts';

const TYPES = ['Ingress', 'Egress'];
const PROTOCOLS = ['TCP', 'UDP', 'SCTP'];

interface Rule {
  readonly path: string;
  readonly ports: readonly NetworkPolicyPort[];
  readonly peers: readonly NetworkPolicyPeer[];
  readonly peerField: 'from' | 'to';
}

function rulesOf({ spec = {} }: NetworkPolicy): Rule[] {
  return [
    ...(spec.ingress ?? []).map(
      ({ ports = [], from = [] }, i): Rule => ({ path: `spec.ingress[${i}]`, ports, peers: from, peerField: 'from' }),
    ),
    ...(spec.egress ?? []).map(
      ({ ports = [], to = [] }, i): Rule => ({ path: `spec.egress[${i}]`, ports, peers: to, peerField: 'to' }),
    ),
  ];
}

function blocksOf(object: NetworkPolicy): { readonly block: IPBlock; readonly path: string }[] {
  return rulesOf(object).flatMap(({ path, peers, peerField }) =>
    peers.flatMap(({ ipBlock }, i) =>
      ipBlock === undefined ? [] : [{ block: ipBlock, path: `${path}.${peerField}[${i}].ipBlock` }],
    ),
  );
}

function applyDefaults(object: NetworkPolicy): void {
  const spec = (object.spec ??= {});
  spec.podSelector ??= {};
  for (const port of [...(spec.ingress ?? []), ...(spec.egress ?? [])].flatMap(({ ports = [] }) => ports)) {
    port.protocol ??= 'TCP';
  }
  if ((spec.policyTypes ?? []).length > 0) return;
  spec.policyTypes = (spec.egress ?? []).length > 0 ? ['Ingress', 'Egress'] : ['Ingress'];
}

/** `kept` are ranges of the stored policy, which are accepted. */
function validateSpec(object: NetworkPolicy, kept: readonly string[]): FieldError[] {
  const { podSelector, policyTypes = [] } = object.spec ?? {};
  const errors = [
    ...validateLabelSelector(podSelector, 'spec.podSelector'),
    ...rulesOf(object).flatMap(({ path, ports, peers, peerField }) => [
      ...ports.flatMap((port, i) => validatePort(port, `${path}.ports[${i}]`)),
      ...peers.flatMap((peer, i) => validatePeer(peer, `${path}.${peerField}[${i}]`, kept)),
    ]),
  ];
  const at = 'spec.policyTypes';
  if (policyTypes.length > TYPES.length) {
    return [...errors, invalid(at, policyTypes, 'may not specify more than two policyTypes')];
  }
  policyTypes.forEach((type, i) => {
    if (!TYPES.includes(type)) errors.push(unsupported(`${at}[${i}]`, type, TYPES));
  });
  return errors;
}

function validatePort({ protocol, port, endPort }: NetworkPolicyPort, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (protocol !== undefined && !PROTOCOLS.includes(protocol)) {
    errors.push(unsupported(`${path}.protocol`, protocol, PROTOCOLS));
  }
  const at = `${path}.endPort`;
  if (port === undefined) {
    if (endPort !== undefined) errors.push(invalid(at, endPort, 'may not be specified when `port` is not specified'));
  } else if (typeof port === 'string') {
    if (endPort !== undefined) errors.push(invalid(at, endPort, 'may not be specified when `port` is non-numeric'));
    append(errors, invalidAll(`${path}.port`, port, portName(port)));
  } else {
    append(errors, invalidAll(`${path}.port`, port, portNumber(port)));
    if (endPort === undefined) return errors;
    if (endPort < port) errors.push(invalid(at, port, 'must be greater than or equal to `port`'));
    append(errors, invalidAll(at, endPort, portNumber(endPort)));
  }
  return errors;
}

function validatePeer(peer: NetworkPolicyPeer, path: string, kept: readonly string[]): FieldError[] {
  const { podSelector, namespaceSelector, ipBlock } = peer;
  const errors = [
    ...validateLabelSelector(podSelector, `${path}.podSelector`),
    ...validateLabelSelector(namespaceSelector, `${path}.namespaceSelector`),
    ...(ipBlock === undefined ? [] : validateBlock(ipBlock, `${path}.ipBlock`, kept)),
  ];
  if (podSelector === undefined && namespaceSelector === undefined && ipBlock === undefined) {
    errors.push(required(path, 'must specify a peer'));
  } else if (ipBlock !== undefined && (podSelector !== undefined || namespaceSelector !== undefined)) {
    errors.push(forbidden(path, 'may not specify both ipBlock and another peer'));
  }
  return errors;
}

function validateBlock({ cidr = '', except = [] }: IPBlock, path: string, kept: readonly string[]): FieldError[] {
  if (cidr === '') return [required(`${path}.cidr`)];
  const errors = validateCidr(cidr, `${path}.cidr`, kept);
  if (cidrFamily(cidr) === undefined) return errors;
  except.forEach((text, i) => {
    const at = `${path}.except[${i}]`;
    append(errors, validateCidr(text, at, kept));
    if (cidrFamily(text) !== undefined && !isStrictSubset(text, cidr)) {
      errors.push(invalid(at, text, 'must be a strict subset of `cidr`'));
    }
  });
  return errors;
}

function warnings(object: NetworkPolicy): string[] {
  return blocksOf(object).flatMap(({ block: { cidr, except = [] }, path }) => [
    ...cidrWarnings(cidr, `${path}.cidr`),
    ...except.flatMap((text, i) => cidrWarnings(text, `${path}.except[${i}]`)),
  ]);
}

export const networkPolicies = defineResource(NETWORK_POLICIES, {
  shortNames: ['netpol'],
  schema: 'networking.v1.NetworkPolicy',
  strategy: {
    applyDefaults,
    validateCreate: (object) => validateSpec(object, []),
    validateUpdate: (object, old) =>
      validateSpec(
        object,
        blocksOf(old).flatMap(({ block }) => [block.cidr, ...(block.except ?? [])]),
      ),
    warnings,
    metadataOnUpdate: 'change',
    hasGeneration: true,
  },
  columns: [
    nameColumn,
    column(
      'Pod-Selector',
      "podSelector selects the pods to which this NetworkPolicy object applies. The array of rules is applied to any pods selected by this field. An empty selector matches all pods in the policy's namespace. Multiple network policies can select the same set of pods. In this case, the ingress rules for each are combined additively. This field is optional. If it is not specified, it defaults to an empty selector.",
      ({ spec }) => formatLabelSelector(spec?.podSelector),
    ),
    ageColumn,
  ],
});
