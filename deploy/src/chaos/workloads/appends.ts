import { errorMessage, pause } from '@gantry/base';
import { PODS, STATEFUL_SETS, type StatefulSet } from '@gantry/objects';
import { ask, dataClaim, fileOf, reachable, serverTemplate } from './pod-server.ts';
import { RecordedClient } from './recorded-client.ts';
import type { RunningWorkload, Workload, WorkloadContext } from './workload.ts';

const NAME = 'file';
const REPLICAS = 2;
const EVERY_MS = 200;
const DELETE_EVERY_MS = 15_000;
const REQUEST_MS = 5_000;

/** A StatefulSet whose pods keep a file, to which clients append. */
export const APPEND_WORKLOAD: Workload = {
  name: 'appends',
  pods: 'needed',
  what: 'Clients append numbers to the files of a StatefulSet, whose pods are deleted again and again; in the end, each acknowledged number is in its file once, in order.',
  start: startAppends,
};

/** The file of one pod, and the numbers that were acknowledged. */
interface Appended {
  readonly pod: string;
  readonly client: RecordedClient;
  readonly acknowledged: number[];
}

async function startAppends(context: WorkloadContext, stop: AbortSignal): Promise<RunningWorkload> {
  const { namespace, connect, untilRight } = context;
  using setup = connect();
  await context.create(STATEFUL_SETS, statefulSet(context));
  const files = Array.from({ length: REPLICAS }, (_, index): Appended => {
    const client = new RecordedClient(context, `appends-${index}`);
    return { pod: `${NAME}-${index}`, client, acknowledged: [] };
  });
  for (const { pod } of files) await reachable(context, 'appends', (signal) => fileOf(setup, namespace, pod, signal));
  const working = [...files.map((file) => append(context, file, stop)), deletePods(context, files, stop)];
  return {
    finish: async () => {
      await Promise.all(working);
      const wrong = await untilRight(async (signal) =>
        (await Promise.all(files.map((file) => judge(context, file, signal)))).flat(),
      );
      return wrong;
    },
  };
}

async function append(context: WorkloadContext, { pod, client, acknowledged }: Appended, stop: AbortSignal) {
  const { clock, namespace, folder } = context;
  let url: string | undefined;
  for (let number = 1; !stop.aborted; number++) {
    try {
      url ??= await fileOf(client.api, namespace, pod, AbortSignal.timeout(REQUEST_MS));
      if (url !== undefined) {
        const uid = await ask(url, { method: 'POST', body: String(number), timeoutMs: REQUEST_MS });
        folder.client(client.name, { observe: 'appended', key: `${namespace}/${pod}`, value: `${number}@${uid}` });
        acknowledged.push(number);
      }
    } catch {
      // Not acknowledged: whether it was done is not known. The pod may have another address by now.
      url = undefined;
    }
    await pause(clock, EVERY_MS, stop);
  }
}

async function deletePods(
  { clock, namespace, random }: WorkloadContext,
  files: readonly Appended[],
  stop: AbortSignal,
) {
  for (;;) {
    await pause(clock, DELETE_EVERY_MS, stop);
    const file = files[Math.floor(random() * files.length)];
    if (stop.aborted || file === undefined) return;
    const { client, pod } = file;
    const key = { namespace, name: pod };
    await client.send({ verb: 'delete', resource: PODS, key }, (signal) => client.api.delete(PODS, key, {}, signal));
  }
}

/** Records what the file has, and says what is wrong with it. */
async function judge(
  { namespace, folder }: WorkloadContext,
  { pod, client, acknowledged }: Appended,
  signal: AbortSignal,
) {
  const url = await fileOf(client.api, namespace, pod, signal);
  if (url === undefined) return [`${pod} has no address`];
  let text: string;
  try {
    text = await ask(url, { timeoutMs: REQUEST_MS });
  } catch (error) {
    return [`${pod}: ${errorMessage(error)}`];
  }
  const numbers = text.split('\n').filter((line) => line !== '');
  folder.client(client.name, { observe: 'file', key: `${namespace}/${pod}`, value: numbers.join() });
  return wrongNumbers(numbers.map(Number), acknowledged).map((what) => `${pod}: ${what}`);
}

/** What is wrong with the numbers of a file: each is sent once, in order, so that each acknowledged one stands there once, in order. */
export function wrongNumbers(file: readonly number[], acknowledged: readonly number[]): readonly string[] {
  const there = new Set(file);
  const lost = acknowledged.filter((number) => !there.has(number));
  const misplaced = file.filter((number, index) => index > 0 && number <= (file[index - 1] ?? 0));
  return [
    ...(lost.length === 0 ? [] : [`${lost.length} acknowledged lines are lost: ${lost.slice(0, 5).join()}`]),
    ...(misplaced.length === 0
      ? []
      : [`${misplaced.length} lines are doubled or out of order: ${misplaced.slice(0, 5).join()}`]),
  ];
}

function statefulSet({ namespace, serviceImage }: WorkloadContext): StatefulSet {
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: NAME, namespace },
    spec: {
      serviceName: NAME,
      replicas: REPLICAS,
      podManagementPolicy: 'Parallel',
      selector: { matchLabels: { app: NAME } },
      template: serverTemplate(serviceImage, NAME, { volume: 'data' }),
      volumeClaimTemplates: [dataClaim('data')],
    },
  };
}
