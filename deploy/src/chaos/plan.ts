import { append, type Random } from '@gantry/base';
import { familyOf, type FaultShape, type PlannedFault } from './fault.ts';

/** What a schedule is made of. */
export interface PlanRequest {
  readonly shapes: readonly FaultShape[];
  readonly durationMs: number;
  /** Mean number of faults that overlap, 1 to 10. */
  readonly intensity: number;
}

/** Time in which the faults of a round start. */
const STARTS_WITHIN_MS = 10_000;
/** What a round takes beside its faults: until the cluster is healthy, and a rest. */
const RECOVERY_MS = 8_000;

/**
 * The schedule of a campaign: rounds of faults that overlap. The same shapes, numbers and random sequence give the same schedule. At most
 * one fault of a round strikes the same container, and at most one of them members of etcd, so that the quorum holds unless a fault is meant
 * to break it.
 */
export function planCampaign({ shapes, durationMs, intensity }: PlanRequest, random: Random): readonly PlannedFault[] {
  const faults: PlannedFault[] = [];
  for (let round = 0, plannedMs = 0; plannedMs < durationMs; round++) {
    const planned = planRound(shapes, { round, count: countOf(intensity, random), firstId: faults.length + 1 }, random);
    append(faults, planned);
    plannedMs += Math.max(...planned.map(({ atMs, durationMs }) => atMs + durationMs)) + RECOVERY_MS;
  }
  return faults;
}

/** A schedule of each kind once, one after the other. */
export function planEach(shapes: readonly FaultShape[], random: Random): readonly PlannedFault[] {
  return shapes.map((shape, index) => planFault(shape, { id: `f${index + 1}`, round: index, atMs: 0 }, random));
}

interface Round {
  readonly round: number;
  readonly count: number;
  readonly firstId: number;
}

function planRound(shapes: readonly FaultShape[], { round, count, firstId }: Round, random: Random): PlannedFault[] {
  const chosen: PlannedFault[] = [];
  const taken = new Set<string>();
  for (let attempt = 0; chosen.length < count && attempt < 4 * count; attempt++) {
    const shape = pickShape(shapes, random);
    const id = `f${firstId + chosen.length}`;
    const atMs = chosen.length === 0 ? 0 : Math.floor(random() * STARTS_WITHIN_MS);
    const fault = planFault(shape, { id, round, atMs }, random);
    if (shape.company === 'alone' && chosen.length > 0) continue;
    if (slotsOf(fault).some((slot) => taken.has(slot))) continue;
    for (const slot of slotsOf(fault)) taken.add(slot);
    chosen.push(fault);
    if (shape.company === 'alone') break;
  }
  return chosen;
}

function planFault(
  shape: FaultShape,
  place: Pick<PlannedFault, 'id' | 'round' | 'atMs'>,
  random: Random,
): PlannedFault {
  const target = pick(shape.targets, random);
  const peers = shape.peersOf?.(target) ?? [];
  const peer = peers.length === 0 ? {} : { peer: pick(peers, random) };
  const durationMs = between(shape.durationMs, random);
  return { ...place, kind: shape.kind, target, ...peer, durationMs, choice: random() };
}

/**
 * What no two faults of a round may share. `leader` and a number may be the same container, so all replicas of a service share one
 * slot; faults of pods, of which there are many, share none.
 */
function slotsOf({ target, kind }: PlannedFault): readonly string[] {
  const family = familyOf(target);
  return family === 'pod' ? [`pod ${kind}`] : [family];
}

/** 1 to 2 × intensity - 1, so that the mean is the intensity. */
function countOf(intensity: number, random: Random): number {
  return 1 + Math.floor(random() * (2 * intensity - 1));
}

function pickShape(shapes: readonly FaultShape[], random: Random): FaultShape {
  const total = shapes.reduce((sum, { weight }) => sum + weight, 0);
  let left = random() * total;
  for (const shape of shapes) {
    left -= shape.weight;
    if (left < 0) return shape;
  }
  return pick(shapes, random);
}

function pick<T>(values: readonly T[], random: Random): T {
  return values[Math.floor(random() * values.length)] as T;
}

function between([least, most]: readonly [number, number], random: Random): number {
  return least + Math.floor(random() * (most - least + 1));
}
