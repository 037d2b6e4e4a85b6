import { pause } from '@gantry/base';
import { isReason, type Job, JOBS, PODS } from '@gantry/objects';
import { RecordedClient } from './recorded-client.ts';
import { untilRight } from './until-right.ts';
import type { RunningWorkload, Workload, WorkloadContext } from './workload.ts';

const EVERY_MS = 10_000;
const COMPLETIONS = 3;
const PARALLELISM = 2;

/** Jobs whose pods end at once. */
export const JOB_WORKLOAD: Workload = {
  name: 'jobs',
  what: 'A Job of three completions is created every ten seconds; each one completes, and counts each pod that succeeded once.',
  start: startJobs,
};

async function startJobs(context: WorkloadContext, stop: AbortSignal): Promise<RunningWorkload> {
  const client = new RecordedClient(context, 'jobs-0');
  const names: string[] = [];
  const working = create(context, client, names, stop);
  return await Promise.resolve({
    finish: async () => {
      await working;
      const wrong = await judge(context, client, names);
      client.api[Symbol.dispose]();
      return wrong;
    },
  });
}

/** Notes the names of Jobs that were acknowledged. One whose outcome is unknown may exist, too, and is not judged. */
async function create(
  { clock, namespace }: WorkloadContext,
  client: RecordedClient,
  names: string[],
  stop: AbortSignal,
): Promise<void> {
  for (let number = 0; !stop.aborted; number++) {
    const name = `job-${number}`;
    const request = { verb: 'create', resource: JOBS, key: { namespace, name } } as const;
    const object = jobObject(namespace, name);
    const { kind } = await client.send(request, (signal) => client.api.create(JOBS, object, signal));
    if (kind === 'ok') names.push(name);
    await pause(clock, EVERY_MS, stop);
  }
}

async function judge({ namespace, clock }: WorkloadContext, { api }: RecordedClient, names: readonly string[]) {
  return await untilRight(clock, async (signal) => {
    const wrong: string[] = [];
    for (const name of names) {
      try {
        const { status } = await api.get(JOBS, { namespace, name }, signal);
        const isComplete = status?.conditions?.some(({ type, status: is }) => type === 'Complete' && is === 'True');
        if (isComplete !== true || status?.succeeded !== COMPLETIONS) {
          wrong.push(`${name} has ${status?.succeeded ?? 0} of ${COMPLETIONS} completions`);
        }
        const { items } = await api.list(PODS, { namespace, labelSelector: `job-name=${name}` }, signal);
        const succeeded = items.filter((pod) => pod.status?.phase === 'Succeeded').length;
        if (succeeded > COMPLETIONS + PARALLELISM - 1) wrong.push(`${name} has ${succeeded} pods that succeeded`);
      } catch (error) {
        if (!isReason(error, 'NotFound')) throw error;
        wrong.push(`${name} is gone`);
      }
    }
    return wrong;
  });
}

function jobObject(namespace: string, name: string): Job {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace },
    spec: {
      completions: COMPLETIONS,
      parallelism: PARALLELISM,
      // Faults make pods fail; a Job that gives up is no defect.
      backoffLimit: 1000,
      template: {
        spec: {
          restartPolicy: 'Never',
          terminationGracePeriodSeconds: 1,
          containers: [{ name: 'main', image: 'busybox:1.36', command: ['true'] }],
        },
      },
    },
  };
}
