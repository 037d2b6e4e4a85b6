import { type EndpointSlice, type KubeObject, parseIpv4, SERVICE_NAME_LABEL } from '@gantry/objects';
import { protocolOf } from '../rules/service-port.ts';
import type { Member, MemberPort } from './member.ts';

/** The DNS servers are no pods here. They count as those that Kubernetes' clusters have, which policies name by this label. */
const DNS_NAMESPACE = 'kube-system';
const DNS_SERVICE = 'kube-dns';
const DNS_LABELS = { 'k8s-app': 'kube-dns' };

/** The DNS servers, by the slices of their Service. */
export class DnsMembers {
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
