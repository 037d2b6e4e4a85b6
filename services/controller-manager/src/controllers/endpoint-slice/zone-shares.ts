import { CONTROL_PLANE_LABEL, MASTER_LABEL, type Node, quantityMilli } from '@gantry/objects';
import { zoneOf } from './pod-endpoint.ts';

/** Each zone's share of the CPU of all ready nodes; the sum is 1. */
export type ZoneShares = ReadonlyMap<string, number>;

/** The number of endpoints that a zone should get. */
export interface Allocation {
  readonly desired: number;
  /** With more, another zone would have too few. */
  readonly maximum: number;
}

/** The maximum overload of an endpoint, relative to its share of the requests. */
const OVERLOAD = 0.2;
const EXCLUDED_LABELS = [CONTROL_PLANE_LABEL, MASTER_LABEL];

/** The shares of zones. Undefined if a ready node has no zone or no allocatable CPU, or if fewer than two zones have ready nodes. */
export function zoneShares(nodes: readonly Node[]): ZoneShares | undefined {
  const cpu = new Map<string, number>();
  let total = 0;
  for (const node of nodes) {
    if (EXCLUDED_LABELS.some((label) => node.metadata.labels?.[label] !== undefined) || !isReady(node)) continue;
    const zone = zoneOf(node);
    const millis = quantityMilli(node.status?.allocatable?.['cpu'] ?? '0');
    if (zone === '' || millis === 0) return undefined;
    cpu.set(zone, (cpu.get(zone) ?? 0) + millis);
    total += millis;
  }
  if (cpu.size < 2) return undefined;
  return new Map([...cpu].sort(([a], [b]) => (a < b ? -1 : 1)).map(([zone, millis]) => [zone, millis / total]));
}

/** Whether a change of a node changes the shares of zones. */
export function changesShares(node: Node | undefined, old: Node | undefined): boolean {
  if (node === undefined || old === undefined) return true;
  const cpu = ({ status }: Node) => status?.allocatable?.['cpu'];
  return isReady(node) !== isReady(old) || zoneOf(node) !== zoneOf(old) || cpu(node) !== cpu(old);
}

/** The allocation of endpoints per zone, or Kubernetes' message why they cannot be shared. */
export function allocate(
  shares: ZoneShares | undefined,
  endpoints: number,
): ReadonlyMap<string, Allocation> | { readonly refused: string } {
  if (shares === undefined) {
    return { refused: 'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes' };
  }
  const counts = `(${endpoints} endpoints, ${shares.size} zones)`;
  if (shares.size > endpoints) return { refused: `Insufficient number of endpoints ${counts}` };
  const minima = new Map([...shares].map(([zone, share]) => [zone, Math.ceil((share * endpoints) / (1 + OVERLOAD))]));
  const total = [...minima.values()].reduce((sum, minimum) => sum + minimum, 0);
  if (total > endpoints) {
    const why = 'Unable to allocate minimum required endpoints to each zone without exceeding overload threshold';
    return { refused: `${why} ${counts}` };
  }
  return new Map(
    [...minima].map(([zone, minimum]) => {
      const desired = Math.max((shares.get(zone) ?? 0) * endpoints, minimum);
      return [zone, { desired, maximum: minimum + endpoints - total }];
    }),
  );
}

function isReady({ status }: Node): boolean {
  return status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') === true;
}
