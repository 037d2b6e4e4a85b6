import { BETA_REGION_LABEL, BETA_ZONE_LABEL, type Node, REGION_LABEL, ZONE_LABEL } from '@gantry/objects';

/** How fast unready nodes get the taint that evicts their pods. */
export interface EvictionRates {
  /** Nodes per second and zone, in a zone that is healthy or completely lost. */
  readonly perSecond: number;
  /** Nodes per second in a large zone that is partially lost; in a small one none. */
  readonly secondaryPerSecond: number;
  /** The share of unready nodes, 0 to 1, at which a zone is partially lost. */
  readonly unhealthyShare: number;
  /** Zones with more nodes are large. */
  readonly largeZoneNodes: number;
}

/**
 * Kubernetes' thresholds, and ten times its rates (0.1 and 0.01 per second), because a silent node also counts as lost after a tenth of
 * Kubernetes' time.
 */
export const EVICTION_RATES: EvictionRates = {
  perSecond: 1,
  secondaryPerSecond: 0.1,
  unhealthyShare: 0.55,
  largeZoneNodes: 50,
};

/** Nodes with this label do not count for the health of a zone. */
const EXCLUDED = 'node.kubernetes.io/exclude-disruption';
/** A zone with fewer unready nodes is healthy, whatever their share. */
const MIN_UNHEALTHY = 3;

export interface ZoneHealth {
  readonly ready: number;
  readonly notReady: number;
}

/** `full`: no node is ready. `partial`: a large part of the zone is lost. */
export type ZoneState = 'normal' | 'partial' | 'full';

/** A unique text for a node's zone, from its region and zone labels; '' if it has neither. */
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

/** The number of nodes of a zone that may be tainted per second; undefined if every zone is lost, when none is evicted. */
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
