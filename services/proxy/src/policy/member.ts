import { formatKey, keyOf, type EndpointSlice, type Pod } from '@gantry/objects';
import { parseAddress } from '../rules/ipv4.ts';
import type { Protocol } from '../rules/service-port.ts';
import type { NamedPort } from './parse-policy.ts';

/** A pod as policies see it. */
export interface Member {
  /** Unique among all members. */
  readonly key: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly address: string;
  /** The InternalIP of its Node; '' where it has none. */
  readonly nodeAddress: string;
  readonly ports: readonly MemberPort[];
}

export interface MemberPort extends NamedPort {
  readonly number: number;
}

/** Named ports of a pod that count: each is an element of a set, and the API knows no bound. */
export const MAX_NAMED_PORTS = 100;

/** The DNS servers are no pods here. They count as those that Kubernetes' clusters have, which policies name by this label. */
export const DNS_NAMESPACE = 'kube-system';
export const DNS_SERVICE = 'kube-dns';
const DNS_LABELS = { 'k8s-app': 'kube-dns' };

const PROTOCOLS: Readonly<Record<string, Protocol>> = { TCP: 'tcp', UDP: 'udp', SCTP: 'sctp' };

/**
 * Undefined for pods without an address of their own: those that have none yet, have ended, or are in their Node's network. A phase alone is
 * no end: a pod whose init container has failed has `Failed` while its sidecars still run.
 */
export function memberOf(pod: Pod): Member | undefined {
  const { metadata, spec, status } = pod;
  const address = status?.podIP ?? '';
  const isOver = ['Succeeded', 'Failed'].includes(status?.phase ?? '') && !hasRunning(pod);
  if (spec?.hostNetwork === true || isOver) return undefined;
  if (parseAddress(address) === undefined) return undefined;
  const nodeAddress = status?.hostIP ?? '';
  return {
    key: `pod/${formatKey(keyOf(pod))}`,
    namespace: metadata.namespace ?? '',
    labels: metadata.labels ?? {},
    address,
    nodeAddress: parseAddress(nodeAddress) === undefined ? '' : nodeAddress,
    ports: namedPortsOf(pod),
  };
}

function hasRunning({ status = {} }: Pod): boolean {
  const { initContainerStatuses = [], containerStatuses = [], ephemeralContainerStatuses = [] } = status;
  const all = [initContainerStatuses, containerStatuses, ephemeralContainerStatuses].flat();
  return all.some(({ state }) => state?.running !== undefined);
}

/** Where two containers give a port the same name and protocol, the first one counts. */
function namedPortsOf({ spec }: Pod): readonly MemberPort[] {
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  const ports = new Map<string, MemberPort>();
  for (const { ports: declared } of [...(spec?.containers ?? []), ...sidecars]) {
    for (const { name = '', protocol: text = 'TCP', containerPort } of declared ?? []) {
      const protocol = PROTOCOLS[text];
      const id = `${text}/${name}`;
      if (name === '' || protocol === undefined || ports.has(id) || ports.size === MAX_NAMED_PORTS) continue;
      ports.set(id, { protocol, name, number: containerPort });
    }
  }
  return [...ports.values()];
}

/** The DNS servers of their Service's slices. Endpoints that are pods count as these. */
export function dnsMembers(slices: Iterable<EndpointSlice>): readonly Member[] {
  const members = new Map<string, Member>();
  for (const { endpoints, ports } of slices) {
    const named = (ports ?? []).flatMap(({ name = '', protocol: text = 'TCP', port }): readonly MemberPort[] => {
      const protocol = PROTOCOLS[text];
      return protocol === undefined || name === '' || typeof port !== 'number'
        ? []
        : [{ protocol, name, number: port }];
    });
    for (const { addresses, targetRef } of endpoints ?? []) {
      const [address = ''] = addresses;
      if ((targetRef ?? null) !== null || parseAddress(address) === undefined) continue;
      const key = `dns/${address}`;
      members.set(key, { key, namespace: DNS_NAMESPACE, labels: DNS_LABELS, address, nodeAddress: '', ports: named });
    }
  }
  return [...members.values()];
}

/** Whether policies see no difference. */
export function isSameMember(one: Member, other: Member): boolean {
  return (
    one.address === other.address &&
    one.nodeAddress === other.nodeAddress &&
    (one.labels === other.labels || JSON.stringify(one.labels) === JSON.stringify(other.labels)) &&
    JSON.stringify(one.ports) === JSON.stringify(other.ports)
  );
}
