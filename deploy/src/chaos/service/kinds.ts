import { defineKind, type ObjectOf } from '@gantry/operator';
import { z } from 'zod';

const GROUP = { group: 'chaos.gantry.dev', version: 'v1alpha1', scope: 'Cluster' } as const;
const MAX_SEED = 2 ** 32 - 1;
const HOUR_MS = 3_600_000;

const name = z.string().min(1).max(64);
const duration = z.string().max(16);
const ms = z.int().min(0).max(HOUR_MS);
const count = z.int().min(0);

/** One fault of a schedule, as in a plan file. */
const planned = z.object({
  kind: name,
  target: name,
  peer: name.optional(),
  round: z.int().min(0).max(1_000).default(0),
  atMs: ms.default(0),
  durationMs: ms.default(0),
  choice: z.number().min(0).max(0.999_999).default(0.5),
});

/** A campaign that a user of the API asks for. The chaos service makes it; without one nothing happens. */
export const CHAOS_RUNS = defineKind({
  ...GROUP,
  kind: 'ChaosRun',
  description: 'Faults at this cluster, under workloads, with a verdict. Its spec has the options of `npm run chaos`.',
  categories: ['chaos'],
  spec: z.object({
    seed: z.int().min(0).max(MAX_SEED).optional(),
    faults: z.array(name).max(100).optional(),
    workloads: z.array(name).max(20).optional(),
    duration: duration.default('1m'),
    intensity: z.int().min(1).max(10).default(2),
    settle: duration.default('10m'),
    calm: duration.default('5s'),
    undisturbed: duration.default('none'),
    plan: z.array(planned).min(1).max(100).optional(),
  }),
  status: z.object({
    phase: z.enum(['Pending', 'Preparing', 'Running', 'Passed', 'Violated', 'Inconclusive', 'Failed']).optional(),
    message: z.string().optional(),
    seed: count.optional(),
    startedAt: z.string().optional(),
    endedAt: z.string().optional(),
    plannedFaults: count.optional(),
    startedFaults: count.optional(),
    active: z
      .array(z.object({ fault: z.string(), detail: z.string(), endsAt: z.string() }))
      .max(100)
      .optional(),
    leaders: z
      .array(z.object({ component: z.string(), holder: z.string(), epoch: count }))
      .max(100)
      .optional(),
    requests: z.object({ acknowledged: count, refused: count, unknown: count }).optional(),
    longestGapMs: count.optional(),
    lines: z.array(z.string()).max(200).optional(),
    violations: z.array(z.string()).max(100).optional(),
    // While the run goes on: until when the checker has judged what is recorded.
    checkedUntil: z.string().optional(),
    checks: z.string().optional(),
    invariants: z
      .array(
        z.object({
          invariant: z.string(),
          title: z.string(),
          state: z.enum(['holds', 'broken', 'not checked']),
          checked: count,
          unit: z.string(),
          notChecked: z.string().optional(),
        }),
      )
      .max(100)
      .optional(),
    folder: z.string().optional(),
    replay: z.string().optional(),
  }),
  rules: [{ rule: 'self.spec == oldSelf.spec', message: 'spec cannot be changed: create another run' }],
  columns: [
    { name: 'Phase', path: '.status.phase' },
    { name: 'Faults', path: '.status.startedFaults', type: 'integer' },
    { name: 'Gap ms', path: '.status.longestGapMs', type: 'integer' },
    { name: 'Seed', path: '.status.seed', type: 'integer' },
    { name: 'Invariants', path: '.status.checks' },
    { name: 'Message', path: '.status.message', priority: 1 },
    { name: 'Age', path: '.metadata.creationTimestamp', type: 'date' },
  ],
});
export type ChaosRun = ObjectOf<typeof CHAOS_RUNS>;
export type ChaosRunSpec = ChaosRun['spec'];
export type ChaosRunStatus = NonNullable<ChaosRun['status']>;

const offered = z.object({ name: z.string(), what: z.string() });

/**
 * Its one object, `cluster`, lists what the chaos service offers. The service updates `heartbeatTime` while it works, and deletes the object at
 * its end.
 */
export const CHAOS_SERVICES = defineKind({
  ...GROUP,
  kind: 'ChaosService',
  description: 'What ChaosRuns may ask for. Written by the chaos service while it works; a heartbeat each ten seconds.',
  categories: ['chaos'],
  spec: z.object({}),
  status: z.object({
    heartbeatTime: z.string().optional(),
    faults: z
      .array(
        offered.extend({
          targets: z.array(z.object({ target: z.string(), peers: z.array(z.string()).max(100) })).max(100),
        }),
      )
      .max(200)
      .optional(),
    impossible: z
      .array(z.object({ name: z.string(), why: z.string() }))
      .max(200)
      .optional(),
    workloads: z.array(offered).max(100).optional(),
  }),
  columns: [
    { name: 'Heartbeat', path: '.status.heartbeatTime', type: 'date' },
    { name: 'Age', path: '.metadata.creationTimestamp', type: 'date' },
  ],
});
export type ChaosService = ObjectOf<typeof CHAOS_SERVICES>;
