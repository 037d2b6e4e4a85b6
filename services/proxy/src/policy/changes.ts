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
  type Pod,
  podAddresses,
  PODS,
} from '@gantry/objects';
import { DnsMembers } from './dns-members.ts';
import { type Member, memberOf } from './member.ts';

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
            object === undefined ? undefined : this.#memberOf(object),
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
  #memberOf(pod: Pod): Member | undefined {
    const member = memberOf(pod);
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
