import { BETA_REGION_LABEL, BETA_ZONE_LABEL, type Node, REGION_LABEL, ZONE_LABEL } from '@gantry/objects';

/** How fast nodes that are not ready are given the taint that evicts their pods. */
export interface EvictionRates {
  /** Nodes per second and zone, in a zone that is well or lost as a whole. */
  readonly perSecond: number;
  /** Nodes per second in a large zone of which much is lost; in a small one it is none. */
  readonly secondaryPerSecond: number;
  /** The share of a zone's nodes, 0 to 1, from which on much is lost. */
  readonly unhealthyShare: number;
  /** Zones with more nodes are large. */
  readonly largeZoneNodes: number;
}

/**
 * Kubernetes' thresholds, and ten times its rates (0.1 and 0.01 per second): a silent node counts as lost after a tenth of
 * Kubernetes' time as well.
 */
export const EVICTION_RATES: EvictionRates = {
  perSecond: 1,
  secondaryPerSecond: 0.1,
  unhealthyShare: 0.55,
  largeZoneNodes: 50,
};

/** Nodes with it do not count when a zone's health is judged. */
const EXCLUDED = 'node.kubernetes.io/exclude-disruption';
/** A zone with fewer nodes that are not ready is well, whatever their share. */
const MIN_UNHEALTHY = 3;

export interface ZoneHealth {
  readonly ready: number;
  readonly notReady: number;
}

/** `full`: no node is ready. `partial`: much of the zone is lost. */
export type ZoneState = 'normal' | 'partial' | 'full';

/** Identifies a node's zone: its region and zone by their labels, '' when it has neither. */
export function zoneOf({ metadata: { labels = {} } }: Node): string {
  const region = labels[BETA_REGION_LABEL] ?? labels[REGION_LABEL] ?? '';
  const zone = labels[BETA_ZONE_LABEL] ?? labels[ZONE_LABEL] ?? '';
  return region === '' && zone === '' ? '' : JSON.stringify([region, zone]);
}

/** A zone as Kubernetes' metrics name it. */
export function zoneLabel(zone: string): string {
  return zone === '' ? '' : (JSON.parse(zone) as string[]).join(':\0:');
}

/** Counts the nodes of each zone. */
export function zoneHealths(nodes: readonly Node[], isReady: (node: Node) => boolean): ReadonlyMap<string, ZoneHealth> {
  const healths = new Map<string, { ready: number; notReady: number }>();
  for (const node of nodes) {
    if (node.metadata.labels?.[EXCLUDED] !== undefined) continue;
    const zone = zoneOf(node);
    const health = healths.get(zone) ?? { ready: 0, notReady: 0 };
    if (isReady(node)) health.ready += 1;
    else health.notReady += 1;
    healths.set(zone, health);
  }
  return healths;
}

export function zoneState({ ready, notReady }: ZoneHealth, { unhealthyShare }: EvictionRates): ZoneState {
  if (ready === 0 && notReady > 0) return 'full';
  return notReady >= MIN_UNHEALTHY && notReady / (ready + notReady) >= unhealthyShare ? 'partial' : 'normal';
}

/** Whether nodes of a zone may be tainted, and how many per second; undefined when every zone is lost: then none is evicted. */
export function evictionRate(
  zone: string,
  healths: ReadonlyMap<string, ZoneHealth>,
  rates: EvictionRates,
): number | undefined {
  const all = [...healths.values()];
  if (all.length > 0 && all.every((one) => zoneState(one, rates) === 'full')) return undefined;
  const health = healths.get(zone);
  if (health === undefined || zoneState(health, rates) !== 'partial') return rates.perSecond;
  return health.ready + health.notReady > rates.largeZoneNodes ? rates.secondaryPerSecond : 0;
}
