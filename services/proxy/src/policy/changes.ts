import type { InformerEvent } from '@gantry/controller-runtime';
import {
  type AddressRange,
  ENDPOINT_SLICES,
  type EndpointSlice,
  formatKey,
  isWithin,
  keyOf,
  type KubeObject,
  NAMESPACES,
  NETWORK_POLICIES,
  type NetworkPolicy,
  type Node,
  NODES,
  parseIpv4,
  type Pod,
  podAddresses,
  PODS,
  SERVICE_NAME_LABEL,
} from '@gantry/objects';
import { protocolOf } from '../rules/service-port.ts';
import { type Member, memberOfPod, type MemberPort } from './member.ts';

/** What has changed for policies and is not worked off yet: the last state by key, undefined for what is gone. */
export class Changes {
  readonly namespaces = new Map<string, KubeObject | undefined>();
  readonly nodes = new Map<string, Node | undefined>();
  readonly policies = new Map<string, NetworkPolicy | undefined>();
  readonly members = new Map<string, Member | undefined>();
  readonly #dns = new DnsMembers();
  /** The addresses of containers of the control plane. */
  readonly #containers: AddressRange | undefined;

  constructor(podCidr: string) {
    this.#containers = podAddresses(podCidr)?.containers;
  }

  /** Takes what the caches report, in order. */
  take(event: InformerEvent): void {
    if (event.kind !== 'changed') return;
    for (const { object, old } of event.changes) {
      const subject = object ?? old;
      if (subject === undefined) continue;
      switch (event.resource.resource) {
        case NETWORK_POLICIES.resource:
          this.policies.set(formatKey(keyOf(subject)), object);
          break;
        case NAMESPACES.resource:
          this.namespaces.set(subject.metadata.name ?? '', object);
          break;
        case NODES.resource:
          this.nodes.set(subject.metadata.name ?? '', object);
          break;
        case PODS.resource:
          this.members.set(
            `pod/${formatKey(keyOf(subject))}`,
            object === undefined ? undefined : this.#memberOfPod(object),
          );
          break;
        case ENDPOINT_SLICES.resource:
          for (const [key, member] of this.#dns.take(subject, object as EndpointSlice | undefined)) {
            this.members.set(key, member);
          }
          break;
      }
    }
  }

  /**
   * No pod has the address of a container of the control plane, whatever an agent reports: to isolate it would close the API or the DNS.
   */
  #memberOfPod(pod: Pod): Member | undefined {
    const member = memberOfPod(pod);
    const isContainers = this.#containers !== undefined && isWithin(this.#containers, member?.address ?? '');
    return isContainers ? undefined : member;
  }
}

/** Takes all entries out at once. */
export function takeAll<K, V>(map: Map<K, V>): readonly (readonly [K, V])[] {
  const entries = [...map];
  map.clear();
  return entries;
}

/** The DNS servers are no pods here. They count as those that Kubernetes' clusters have, which policies name by this label. */
const DNS_NAMESPACE = 'kube-system';
const DNS_SERVICE = 'kube-dns';
const DNS_LABELS = { 'k8s-app': 'kube-dns' };

/** The DNS servers, by the slices of their Service. */
class DnsMembers {
  readonly #slices = new Map<string, EndpointSlice>();
  #keys: readonly string[] = [];

  /** Takes a slice, undefined when it is gone. Returns the members whose state may have changed, undefined for one that is gone. */
  take({ metadata }: KubeObject, slice: EndpointSlice | undefined): ReadonlyMap<string, Member | undefined> {
    if (metadata.namespace !== DNS_NAMESPACE) return new Map();
    const name = metadata.name ?? '';
    if (slice?.metadata.labels?.[SERVICE_NAME_LABEL] === DNS_SERVICE) this.#slices.set(name, slice);
    else if (!this.#slices.delete(name)) return new Map();
    const members = dnsMembers(this.#slices.values());
    const gone = this.#keys.map((key) => [key, undefined] as const);
    this.#keys = members.map(({ key }) => key);
    return new Map<string, Member | undefined>([...gone, ...members.map((member) => [member.key, member] as const)]);
  }
}

/** The DNS servers of their Service's slices. Endpoints that are pods count as these. */
function dnsMembers(slices: Iterable<EndpointSlice>): readonly Member[] {
  const members = new Map<string, Member>();
  for (const { endpoints, ports } of slices) {
    const named = (ports ?? []).flatMap(({ name = '', protocol: text = 'TCP', port }): readonly MemberPort[] => {
      const protocol = protocolOf(text);
      return protocol === undefined || name === '' || typeof port !== 'number'
        ? []
        : [{ protocol, name, number: port }];
    });
    for (const { addresses, targetRef } of endpoints ?? []) {
      const [address = ''] = addresses;
      if ((targetRef ?? null) !== null || parseIpv4(address) === undefined) continue;
      const key = `dns/${address}`;
      members.set(key, { key, namespace: DNS_NAMESPACE, labels: DNS_LABELS, address, node: '', ports: named });
    }
  }
  return [...members.values()];
}
