import { join } from 'node:path';
import { type Clock, pause } from '@gantry/base';
import { isReason, NAMESPACES, PODS } from '@gantry/objects';
import { CommandError } from '../machine/command-error.ts';
import type { ChaosCluster } from './chaos-cluster.ts';
import { removeNamespace } from './leftovers.ts';
import type { CampaignOptions } from './options.ts';
import { readKeys } from './recording/record-etcd.ts';
import { RunFolder } from './recording/run-folder.ts';
import { finishAll, makeNamespace, startWorkloads } from './workloads/run-workloads.ts';
import { Tally } from './workloads/tally.ts';
import { type Patience, untilRight } from './workloads/until-right.ts';

const GONE_MS = 300_000;

interface Tools {
  readonly cluster: ChaosCluster;
  readonly clock: Clock;
  readonly namespace: string;
  readonly say: (text: string) => void;
  readonly patience: Required<Patience>;
}

/**
 * Runs the workloads without faults, in the namespace that the campaign uses afterwards, and records all keys at their end as
 * `undisturbed.jsonl`: the campaign must end in the same state (I21). Throws CommandError for workloads that fail without faults.
 */
export async function recordUndisturbed(
  tools: Tools,
  options: CampaignOptions,
  run: RunFolder,
  stop: AbortSignal,
): Promise<void> {
  const { cluster, clock, namespace, say } = tools;
  const { etcd } = cluster.engine.options;
  say(`the workloads run without faults for ${options.undisturbedMs / 1000} s: their end state is compared later`);
  await using folder = new RunFolder(join(run.path, 'undisturbed'), clock);
  const end = new AbortController();
  const over = new AbortController();
  try {
    await makeNamespace(cluster, namespace);
    const parts = { ...tools, folder, tally: new Tally(), isLost: () => false, over: over.signal };
    const workloads = await startWorkloads(parts, options, end.signal);
    await pause(clock, options.undisturbedMs, stop);
    end.abort();
    const wrong = [...(await finishAll(workloads)), ...(await untilStill(tools))];
    if (wrong.length > 0) throw new CommandError(`without faults: ${wrong.join('; ')}`);
    const revision = await etcd.revision();
    const keys = readKeys(await etcd.ctl(['get', '', '--prefix', `--rev=${revision}`, '-w', 'json']));
    run.undisturbedKeys({ revision, keys: [...keys] });
  } finally {
    end.abort();
    over.abort();
    await removeAndWait(tools);
  }
}

/** Waits until no pod of the workloads is about to end. */
async function untilStill({ cluster, clock, namespace, patience }: Tools): Promise<readonly string[]> {
  using api = cluster.connect();
  return await untilRight(
    clock,
    async (signal) => {
      const { items } = await api.list(PODS, { namespace }, signal);
      return items.flatMap(({ metadata }) =>
        metadata.deletionTimestamp === undefined ? [] : [`${metadata.name} is not gone`],
      );
    },
    patience,
  );
}

async function removeAndWait({ cluster, clock, namespace, patience }: Tools): Promise<void> {
  using api = cluster.connect();
  await removeNamespace(api, namespace);
  const left = await untilRight(
    clock,
    async (signal) => {
      try {
        await api.get(NAMESPACES, { namespace: '', name: namespace }, signal);
        return [`namespace ${namespace} is not gone`];
      } catch (error) {
        if (isReason(error, 'NotFound')) return [];
        throw error;
      }
    },
    { ...patience, limitMs: GONE_MS },
  );
  if (left.length > 0) throw new CommandError(left.join('; '));
}
