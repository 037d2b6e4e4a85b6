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

/** The changes for policies that are not processed yet: the last state by key, or undefined if the object is gone. */
export class Changes {
  readonly namespaces = new Map<string, KubeObject | undefined>();
  readonly nodes = new Map<string, Node | undefined>();
  readonly policies = new Map<string, NetworkPolicy | undefined>();
  readonly members = new Map<string, Member | undefined>();
  readonly #dns = new DnsMembers();
  /** The addresses of the control plane's containers. */
  readonly #containers: AddressRange | undefined;

  constructor(podCidr: string) {
    this.#containers = podAddresses(podCidr)?.containers;
  }

  /** Takes the events of the caches, in order. */
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
   * A pod cannot have the address of a control plane container, whatever an agent reports. Isolating that address would close the API or
   * the DNS.
   */
  #memberOfPod(pod: Pod): Member | undefined {
    const member = memberOfPod(pod);
    const isContainers = this.#containers !== undefined && isWithin(this.#containers, member?.address ?? '');
    return isContainers ? undefined : member;
  }
}

/** Takes out all entries at once. */
export function takeAll<K, V>(map: Map<K, V>): readonly (readonly [K, V])[] {
  const entries = [...map];
  map.clear();
  return entries;
}

/** The DNS servers are not pods here. They count as the DNS pods of other Kubernetes clusters, which policies select by this label. */
const DNS_NAMESPACE = 'kube-system';
const DNS_SERVICE = 'kube-dns';
const DNS_LABELS = { 'k8s-app': 'kube-dns' };

/** The DNS servers, from the slices of their Service. */
class DnsMembers {
  readonly #slices = new Map<string, EndpointSlice>();
  #keys: readonly string[] = [];

  /**
   * Takes a slice, or undefined if it is gone. Returns the members whose state may have changed, with undefined for a member that is
   * gone.
   */
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

/** Returns the DNS servers from the slices of their Service. Endpoints that are pods count as pods only. */
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
