import { lead, pause } from '@gantry/base';
import { type ConfigMap, CONFIG_MAPS } from '@gantry/objects';
import { LeaseElection } from '@gantry/operator';
import { RecordedClient } from './recorded-client.ts';
import type { RunningWorkload, Workload, WorkloadContext } from './workload.ts';

const CANDIDATES = 2;
const NAME = 'writer';
const WRITE_EVERY_MS = 250;
const TIMES = { leaseMs: 4_000, renewMs: 3_000, retryMs: 500 } as const;
/** A candidate is cut off now and then for longer than its lease: a leader then loses it. */
const AWAY_EVERY_MS = 20_000;
const AWAY_MS = 6_000;
const NO_LOG = { debug: ignore, info: ignore, warn: ignore, error: ignore };

function ignore(): void {}

/** Writers that a Lease elects, as any user's program does it. */
export const ELECTOR_WORKLOAD: Workload = {
  name: 'electors',
  restores: 'known',
  what: "Two programs of the user's own elect a writer by a Lease (the elector of @gantry/operator), and are cut off from the API by turns; by their own records, never do both lead.",
  start: startElectors,
};

async function startElectors(context: WorkloadContext, stop: AbortSignal): Promise<RunningWorkload> {
  const { namespace } = context;
  const object: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: NAME, namespace } };
  await context.create(CONFIG_MAPS, object);
  const clients = Array.from({ length: CANDIDATES }, (_, index) => new RecordedClient(context, `electors-${index}`));
  const terms = { count: 0 };
  const running = clients.map((client, index) => run(context, { client, index, terms }, stop));
  return {
    finish: async () => {
      await Promise.all(running);
      // That no two terms overlap, the checker finds in the records (I4).
      return terms.count === 0 ? [`nobody was elected by the Lease ${NAME}`] : [];
    },
  };
}

interface Candidate {
  readonly client: RecordedClient;
  readonly index: number;
  readonly terms: { count: number };
}

async function run(context: WorkloadContext, { client, index, terms }: Candidate, stop: AbortSignal): Promise<void> {
  const { clock, namespace, folder, random } = context;
  const sinceMs = clock.monotonicMs();
  /** The candidates are away by turns. */
  const isAway = () => {
    const ms = clock.monotonicMs() - sinceMs + index * (AWAY_EVERY_MS / CANDIDATES);
    return ms > AWAY_EVERY_MS && ms % AWAY_EVERY_MS < AWAY_MS;
  };
  const present = async () => {
    while (isAway()) await pause(clock, 100, stop);
  };
  const { api } = client;
  /** The work of the last term. */
  let working = Promise.resolve();
  const election = new LeaseElection({
    ...TIMES,
    client: {
      get: async (resource, key, signal) => (await present(), await api.get(resource, key, signal)),
      create: async (resource, object, signal) => (await present(), await api.create(resource, object, signal)),
      update: async (resource, object, signal) => (await present(), await api.update(resource, object, signal)),
    },
    lease: { namespace, name: NAME },
    identity: client.name,
    idle: () => working,
    clock,
    random,
    log: NO_LOG,
  });
  const note = (observe: 'leads' | 'leads-not') =>
    folder.client(client.name, { observe, key: `${namespace}/${NAME}`, value: client.name });
  await lead(
    {
      election,
      act: ({ transitions }, signal) => {
        terms.count++;
        note('leads');
        working = write(context, client, transitions, signal).finally(() => void note('leads-not'));
        return working;
      },
      clock,
      random,
      log: NO_LOG,
    },
    stop,
  );
}

/** What the leader does. Its requests end with its term. */
async function write(
  { clock, namespace }: WorkloadContext,
  client: RecordedClient,
  term: number,
  ended: AbortSignal,
): Promise<void> {
  const key = { namespace, name: NAME };
  for (let turn = 0; !ended.aborted; turn++) {
    const merge = { data: { term: String(term), turn: String(turn) } };
    await client.send({ verb: 'patch', resource: CONFIG_MAPS, key }, (signal) =>
      client.api.patch(CONFIG_MAPS, key, { merge }, AbortSignal.any([signal, ended])),
    );
    await pause(clock, WRITE_EVERY_MS, ended);
  }
}
