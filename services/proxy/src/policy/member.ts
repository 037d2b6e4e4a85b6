import { formatKey, hasEnded, keyOf, lastingContainers, parseIpv4, type Pod } from '@gantry/objects';
import { protocolOf } from '../rules/service-port.ts';
import type { NamedPort } from './parse-policy.ts';

/** A pod as policies see it. */
export interface Member {
  /** Unique among all members. */
  readonly key: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly address: string;
  /** The Node that the pod is bound to. Empty if it has none. */
  readonly node: string;
  readonly ports: readonly MemberPort[];
}

/** A named port of a pod with the pod's number for it. */
export interface MemberPort extends NamedPort {
  readonly number: number;
}

/** The maximum number of named ports that count per pod. Each is an element of a set, and the API has no bound. */
export const MAX_NAMED_PORTS = 100;

/**
 * Returns undefined for pods without an address of their own: they have none yet, have ended, or use their Node's network. The phase
 * alone does not end a pod: if an init container has failed, the pod has the phase `Failed` while its sidecars still run.
 */
export function memberOfPod(pod: Pod): Member | undefined {
  const { metadata, spec, status } = pod;
  const address = status?.podIP ?? '';
  const isOver = hasEnded(pod) && !hasRunning(pod);
  if (spec?.hostNetwork === true || isOver) return undefined;
  if (parseIpv4(address) === undefined) return undefined;
  return {
    key: `pod/${formatKey(keyOf(pod))}`,
    namespace: metadata.namespace ?? '',
    labels: metadata.labels ?? {},
    address,
    node: spec?.nodeName ?? '',
    ports: namedPortsOf(pod),
  };
}

function hasRunning({ status = {} }: Pod): boolean {
  const { initContainerStatuses = [], containerStatuses = [], ephemeralContainerStatuses = [] } = status;
  const all = [initContainerStatuses, containerStatuses, ephemeralContainerStatuses].flat();
  return all.some(({ state }) => state?.running !== undefined);
}

/** If two containers give a port the same name and protocol, the first one counts. */
function namedPortsOf(pod: Pod): readonly MemberPort[] {
  const ports = new Map<string, MemberPort>();
  for (const { ports: declared } of lastingContainers(pod)) {
    for (const { name = '', protocol: text = 'TCP', containerPort } of declared ?? []) {
      const protocol = protocolOf(text);
      const id = `${text}/${name}`;
      if (name === '' || protocol === undefined || ports.has(id) || ports.size === MAX_NAMED_PORTS) continue;
      ports.set(id, { protocol, name, number: containerPort });
    }
  }
  return [...ports.values()];
}

/** Whether the two members are the same for policies. */
export function isSameMember(one: Member, other: Member): boolean {
  return (
    one.address === other.address &&
    one.node === other.node &&
    (one.labels === other.labels || JSON.stringify(one.labels) === JSON.stringify(other.labels)) &&
    JSON.stringify(one.ports) === JSON.stringify(other.ports)
  );
}
