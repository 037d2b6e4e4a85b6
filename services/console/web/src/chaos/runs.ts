import type { KubeObject } from '@gantry/objects';
import { objectFormat } from '../watch/formats.ts';

const ROOT = '/apis/chaos.gantry.dev/v1alpha1';
export const RUNS = { id: 'chaosruns.chaos.gantry.dev', group: 'chaos.gantry.dev', resource: 'chaosruns' } as const;
export const RUNS_PATH = `${ROOT}/chaosruns`;
export const SERVICES_PATH = `${ROOT}/chaosservices`;
/** The chaos service writes a heartbeat every ten seconds. Faults may delay some of them. */
const SILENCE_MS = 60_000;

export interface PlannedFault {
  readonly kind: string;
  readonly target: string;
  readonly peer?: string;
  readonly durationMs: number;
}

/** The spec of a ChaosRun: docs/chaos.md. */
export interface RunSpec {
  readonly seed?: number;
  readonly faults?: readonly string[];
  readonly workloads?: readonly string[];
  readonly duration?: string;
  readonly intensity?: number;
  readonly plan?: readonly PlannedFault[];
}

export interface RunStatus {
  readonly phase?: string;
  readonly message?: string;
  readonly seed?: number;
  readonly startedAt?: string;
  readonly endedAt?: string;
  readonly plannedFaults?: number;
  readonly startedFaults?: number;
  readonly active?: readonly { readonly fault: string; readonly detail: string; readonly endsAt: string }[];
  readonly leaders?: readonly { readonly component: string; readonly holder: string; readonly epoch: number }[];
  readonly requests?: { readonly acknowledged: number; readonly refused: number; readonly unknown: number };
  readonly longestGapMs?: number;
  readonly lines?: readonly string[];
  readonly violations?: readonly string[];
  /** What the checker says: of what is recorded until `checkedUntil`, while the run goes on. */
  readonly invariants?: readonly Invariant[];
  readonly checks?: string;
  readonly checkedUntil?: string;
  readonly folder?: string;
  readonly replay?: string;
}

export interface Invariant {
  readonly invariant: string;
  readonly title: string;
  readonly state: string;
  readonly checked: number;
  readonly unit: string;
  readonly notChecked?: string;
}

export interface Run {
  readonly uid: string;
  readonly name: string;
  readonly createdAt: number;
  readonly isTerminating: boolean;
  readonly spec: RunSpec;
  readonly status: RunStatus;
}

export const RUN_FORMAT = objectFormat<Run>((object) => {
  const { metadata, spec = {}, status = {} } = object as KubeObject & { spec?: RunSpec; status?: RunStatus };
  const { uid = '', name = '', creationTimestamp = '', deletionTimestamp } = metadata;
  return {
    uid,
    name,
    createdAt: Date.parse(creationTimestamp),
    isTerminating: deletionTimestamp !== undefined,
    spec,
    status,
  };
});

/** A kind of fault that can be made at this cluster. */
export interface FaultKind {
  readonly name: string;
  readonly what: string;
  readonly targets: readonly { readonly target: string; readonly peers: readonly string[] }[];
}

export interface Service {
  readonly uid: string;
  readonly heartbeatAt: number;
  readonly faults: readonly FaultKind[];
  readonly workloads: readonly { readonly name: string; readonly what: string }[];
}

export const SERVICE_FORMAT = objectFormat<Service>((object) => {
  const { metadata, status } = object as KubeObject & {
    status?: Partial<Pick<Service, 'faults' | 'workloads'>> & { readonly heartbeatTime?: string };
  };
  const { heartbeatTime = '', faults = [], workloads = [] } = status ?? {};
  return { uid: metadata.uid ?? '', heartbeatAt: Date.parse(heartbeatTime), faults, workloads };
});

/** The service that works now; undefined if none does. */
export function workingService(services: Iterable<Service>, now: number): Service | undefined {
  for (const service of services) if (now - service.heartbeatAt < SILENCE_MS) return service;
  return undefined;
}

/** What the buttons do, and the kinds of faults that do it: those of etcd's members have names of their own. */
export const STRIKES = [
  { title: 'Kill', kinds: ['kill', 'etcd-kill'], durationMs: 0 },
  { title: 'Pause', kinds: ['pause', 'etcd-pause'], durationMs: 12_000 },
  { title: 'Cut', kinds: ['cut'], durationMs: 12_000 },
] as const;
export type Strike = (typeof STRIKES)[number];

/** The components that a button can strike. */
export function componentsOf({ faults }: Pick<Service, 'faults'>): readonly string[] {
  const names = new Set<string>(STRIKES.flatMap(({ kinds }) => kinds));
  const targets = faults.filter(({ name }) => names.has(name)).flatMap(({ targets }) => targets);
  return [...new Set(targets.map(({ target }) => target))].sort();
}

/** The peers that a component can be cut off from. */
export function peersOf(service: Pick<Service, 'faults'>, component: string): readonly string[] {
  return targetOf(service, 'cut', component)?.peers ?? [];
}

/** The fault that a button makes at a component; undefined if it cannot. */
export function strikeOf(
  service: Pick<Service, 'faults'>,
  { kinds, durationMs }: Strike,
  component: string,
  peer: string,
): PlannedFault | undefined {
  for (const kind of kinds) {
    const found = targetOf(service, kind, component);
    if (found === undefined) continue;
    if (found.peers.length === 0) return { kind, target: component, durationMs };
    if (found.peers.includes(peer)) return { kind, target: component, peer, durationMs };
  }
  return undefined;
}

function targetOf({ faults }: Pick<Service, 'faults'>, kind: string, component: string) {
  return faults.find(({ name }) => name === kind)?.targets.find(({ target }) => target === component);
}

/** A campaign of one fault, while clients count. */
export function strikeRun(fault: PlannedFault): object {
  return runOf(`${fault.kind}-`, { workloads: ['counters'], plan: [fault] });
}

/** Fields of the form for a scenario, as texts. */
export interface Scenario {
  readonly seed: string;
  readonly duration: string;
  readonly intensity: string;
  /** Empty: all. */
  readonly faults: readonly string[];
  readonly workloads: readonly string[];
}

export function scenarioRun({ seed, duration, intensity, faults, workloads }: Scenario): object {
  return runOf('scenario-', {
    ...(seed.trim() === '' ? {} : { seed: Number(seed) }),
    duration,
    intensity: Number(intensity),
    ...(faults.length === 0 ? {} : { faults }),
    workloads,
  });
}

function runOf(generateName: string, spec: RunSpec): object {
  return { apiVersion: 'chaos.gantry.dev/v1alpha1', kind: 'ChaosRun', metadata: { generateName }, spec };
}

const TONES: Readonly<Record<string, string>> = {
  Passed: 'good',
  Violated: 'bad',
  Failed: 'bad',
  Inconclusive: 'waiting',
};

/** The colour of a phase or of the state of an invariant. */
export function toneOf(state: string): string {
  return TONES[state] ?? (state === 'holds' ? 'good' : state === 'broken' ? 'bad' : 'none');
}

/** The newest first. */
export function sortRuns(runs: Iterable<Run>): readonly Run[] {
  return [...runs].sort((one, other) => other.createdAt - one.createdAt || (one.name < other.name ? 1 : -1));
}
