import type { InProcessServer } from '@gantry/apiserver/testing';
import type { Clock } from '@gantry/base';
import type { ObjectWrite } from '@gantry/client';
import { createFenceHolder, createManager, type Log } from '@gantry/controller-runtime';
import { StatusError } from '@gantry/objects';
import { createMetrics } from '@gantry/service';
import {
  type Activity,
  createDisturbedClient,
  type Dice,
  type Faults,
  readDisturbed,
} from '@gantry/controller-runtime/testing';
import type { ReadPath } from '../../controllers/horizontal-pod-autoscaler/scale-reader.shell.ts';
import { createMeters } from '../../metrics/meters.ts';
import { createControllers } from '../../registry.ts';
import { createNodeRanges } from '../node-ranges.ts';
import { createSimulatedReads } from './autoscaling.ts';
import { type NoteWrite, withNotedWrites } from './controller-writes.ts';
import type { World } from './world.ts';

const ELECTION_KEY = '/gantry/elections/kube-controller-manager';
const USER = {
  name: 'system:kube-controller-manager',
  uid: '',
  groups: ['gantry:services', 'system:authenticated'],
  extra: {},
};
const AUTHORITY = { parse: async () => 'there is no authority', sign: async () => '' };

/** This is longer than four heartbeats of the simulated nodes. */
const NODE_GRACE_MS = 40_000;

/** The names of all controllers of the controller-manager. */
export function controllerNames(): readonly string[] {
  return createAll(() => Promise.reject(StatusError.unavailable('nothing is read'))).map(({ name }) => name);
}

function createAll(readPath: ReadPath) {
  return createControllers({
    authorities: { cluster: AUTHORITY, 'node-serving': AUTHORITY },
    signers: {
      firstServiceAddress: '10.96.0.1',
      podCidr: '10.128.0.0/20',
      reservedNames: [],
      servingApproval: 'automatic',
      joining: 'refused',
    },
    readCa: () => 'a certificate',
    nodeGraceMs: NODE_GRACE_MS,
    podCidr: '10.128.0.0/20',
    nodeRanges: createNodeRanges(),
    localPath: { storageClass: 'create' },
    readPath,
    meters: createMeters(createMetrics('part')),
  });
}

export interface ManagerProcessOptions {
  readonly server: InProcessServer;
  readonly world: World;
  readonly clock: Clock;
  readonly activity: Activity;
  readonly dice: Dice;
  readonly log: Log;
  readonly faults: () => Faults | undefined;
  readonly onRequest: (verb: string, resource: string) => void;
  readonly noteWrite: NoteWrite;
  readonly onWrite: (write: ObjectWrite, moment: 'before' | 'after') => void;
}

/** A controller-manager with all controllers and an initially empty cache, elected for its own term. */
export interface ManagerProcess {
  /** Ends the process between two instructions, as SIGKILL does. */
  crash(): void;
}

/** Starts and elects a new process. From now on the fence refuses writes of earlier processes. */
export async function startManagerProcess(options: ManagerProcessOptions, identity: string): Promise<ManagerProcess> {
  const { server, clock, dice, log, onWrite } = options;
  const crashed = new AbortController();
  const { signal } = crashed;
  const epoch = await elect(server, identity, signal);
  const fences = createFenceHolder();
  const inner = server.client({ user: USER, fieldManager: 'kube-controller-manager', fence: () => fences.fence() });
  const client = createDisturbedClient({ ...options, client: inner, onWrite, crashed: signal });
  const reads = createSimulatedReads(options);
  const read: ReadPath = (path, within) => readDisturbed({ ...options, crashed: signal }, () => reads(path, within));
  const component = 'kube-controller-manager';
  const manager = createManager({
    client,
    fences,
    component,
    identity,
    controllers: createAll(read).map((spec) => withNotedWrites(spec, options.noteWrite)),
    clock,
    random: dice.random,
    log,
  });
  // A crash is not a failure. After one, the only rejection is its abort reason.
  const ended = (error: unknown): void => {
    if (!signal.aborted) throw error;
  };
  void manager.run(signal).catch(ended);
  void manager.leader.lead({ electionKey: ELECTION_KEY, epoch, incarnation: server.incarnation }, signal).catch(ended);
  return { crash: () => crashed.abort(new Error('the process has crashed')) };
}

/** Creates the election key again. Its create revision is the epoch. */
async function elect({ etcd }: InProcessServer, identity: string, signal: AbortSignal): Promise<number> {
  const value = Buffer.from(identity);
  await etcd.transact({ compare: [], success: [{ kind: 'delete', key: ELECTION_KEY }], failure: [] }, { signal });
  const put = { kind: 'put', key: ELECTION_KEY, value } as const;
  return (await etcd.transact({ compare: [], success: [put], failure: [] }, { signal })).revision;
}
