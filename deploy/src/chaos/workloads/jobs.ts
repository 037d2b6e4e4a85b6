import { pause } from '@gantry/base';
import { ignoreNotFound } from '@gantry/client';
import {
  type Container,
  controllerOf,
  type CronJob,
  CRON_JOBS,
  isReason,
  type Job,
  JOBS,
  type PodTemplateSpec,
  PODS,
  type Service,
  SERVICES,
  STATEFUL_SETS,
  type StatefulSet,
} from '@gantry/objects';
import { ask, dataClaim, fileOf, POD_UID_VARIABLE, reachable, serverTemplate } from './pod-server.ts';
import { RecordedClient } from './recorded-client.ts';
import type { RunningWorkload, Workload, WorkloadContext } from './workload.ts';

const EVERY_MS = 10_000;
const COMPLETIONS = 3;
const PARALLELISM = 2;
const READ_MS = 5_000;
const LEDGER = 'ledger';
const CRON_JOB = 'tick';

/** Jobs, and a CronJob, whose pods leave a mark outside of themselves and end. */
export const JOB_WORKLOAD: Workload = {
  name: 'jobs',
  pods: 'needed',
  what: 'A Job of three completions is created every ten seconds, and another one each minute by a CronJob; each completes, counts each pod that succeeded once, and has left a mark for each completion.',
  start: startJobs,
};

async function startJobs(context: WorkloadContext, stop: AbortSignal): Promise<RunningWorkload> {
  const { namespace, connect, serviceImage } = context;
  using setup = connect();
  await context.create(SERVICES, ledgerService(namespace));
  await context.create(STATEFUL_SETS, ledger(context));
  await reachable(context, 'jobs', (signal) => fileOf(setup, namespace, `${LEDGER}-0`, signal));
  await context.create(CRON_JOBS, cronJob(namespace, serviceImage));
  const client = new RecordedClient(context, 'jobs-0');
  const names: string[] = [];
  const working = create(context, client, names, stop);
  return {
    finish: async () => {
      await working;
      const wrong = await judge(context, client, names);
      return wrong;
    },
  };
}

/** Notes the names of Jobs that were acknowledged. One whose outcome is unknown may exist, too, and is not judged. */
async function create(
  { clock, namespace, serviceImage }: WorkloadContext,
  client: RecordedClient,
  names: string[],
  stop: AbortSignal,
): Promise<void> {
  for (let number = 0; !stop.aborted; number++) {
    const name = `job-${number}`;
    const request = { verb: 'create', resource: JOBS, key: { namespace, name } } as const;
    const object: Job = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name, namespace },
      spec: {
        completions: COMPLETIONS,
        parallelism: PARALLELISM,
        completionMode: 'Indexed',
        // Faults make pods fail; a Job that gives up is no defect.
        backoffLimit: 1000,
        template: markingTemplate(serviceImage),
      },
    };
    const { kind } = await client.send(request, (signal) => client.api.create(JOBS, object, signal));
    if (kind === 'ok') names.push(name);
    await pause(clock, EVERY_MS, stop);
  }
}

/** Judges the Jobs of the client, and then those of the CronJob. Records their marks: the checker looks for those that were made twice. */
async function judge(context: WorkloadContext, { api, name: client }: RecordedClient, names: readonly string[]) {
  const { namespace, untilRight, folder } = context;
  let marks: readonly string[] = [];
  const wrong = await untilRight(async (signal) => {
    await api.patch(CRON_JOBS, { namespace, name: CRON_JOB }, { merge: { spec: { suspend: true } } }, signal);
    const url = await fileOf(api, namespace, `${LEDGER}-0`, signal);
    if (url === undefined) return [`${LEDGER}-0 has no address`];
    const { items } = await api.list(JOBS, { namespace }, signal);
    const ofCronJob = items.filter((job) => controllerOf(job)?.name === CRON_JOB);
    const judged = names.map((name) => items.find(({ metadata }) => metadata.name === name) ?? name);
    marks = (await ask(url, { timeoutMs: READ_MS })).split('\n').filter((line) => line !== '');
    return [
      ...judged.flatMap((job) => (typeof job === 'string' ? [`${job} is gone`] : wrongWith(job, marks))),
      ...ofCronJob.flatMap((job) => wrongWith(job, marks)),
      ...(await tooManyPods(context, api, names, signal)),
    ];
  });
  for (const { job, mark } of marks.map(parseMark)) {
    folder.client(client, { observe: 'job-done', key: `${namespace}/${job}`, value: mark });
  }
  return [...wrong, ...(await removeJobs(context, api, names))];
}

/** How many Jobs there are, and how many pods failed, differs between runs: the end states could not be compared. */
async function removeJobs(
  { namespace, untilRight }: WorkloadContext,
  api: RecordedClient['api'],
  names: readonly string[],
) {
  return await untilRight(async (signal) => {
    const { items: jobs } = await api.list(JOBS, { namespace }, signal);
    const own = jobs.filter(({ metadata }) => /^job-\d+$/.test(metadata.name ?? ''));
    for (const { metadata } of own) {
      const key = { namespace, name: metadata.name ?? '' };
      await ignoreNotFound(api.delete(JOBS, key, { propagationPolicy: 'Background' }, signal));
    }
    const { items: pods } = await api.list(PODS, { namespace, labelSelector: 'job-name' }, signal);
    const left = pods.filter(({ metadata }) => names.includes(metadata.labels?.['job-name'] ?? ''));
    return [...own, ...left].map(({ metadata }) => `${metadata.name} is there after its deletion`);
  });
}

async function tooManyPods(
  { namespace }: WorkloadContext,
  api: RecordedClient['api'],
  names: readonly string[],
  signal: AbortSignal,
) {
  const wrong: string[] = [];
  for (const name of names) {
    try {
      const { items } = await api.list(PODS, { namespace, labelSelector: `job-name=${name}` }, signal);
      const succeeded = items.filter((pod) => pod.status?.phase === 'Succeeded').length;
      if (succeeded > COMPLETIONS + PARALLELISM - 1) wrong.push(`${name} has ${succeeded} pods that succeeded`);
    } catch (error) {
      if (!isReason(error, 'NotFound')) throw error;
    }
  }
  return wrong;
}

/** `job-0/2@<uid>`. */
function parseMark(line: string): { readonly job: string; readonly mark: string } {
  const [job = '', mark = ''] = line.split('/');
  return { job, mark };
}

/** What a Job that should be complete has wrong: its count, or a completion without a mark. */
export function wrongWith({ metadata: { name }, spec, status }: Job, marks: readonly string[]): readonly string[] {
  const completions = spec?.completions ?? 1;
  const isComplete = status?.conditions?.some(({ type, status: is }) => type === 'Complete' && is === 'True');
  if (isComplete !== true || status?.succeeded !== completions) {
    return [`${name} has ${status?.succeeded ?? 0} of ${completions} completions`];
  }
  const indexes = Array.from({ length: completions }, (_, index) => index);
  const unmarked = indexes.filter((index) => !marks.some((line) => line.startsWith(`${name}/${index}@`)));
  return unmarked.map((index) => `${name} is complete, and completion ${index} has left no mark`);
}

/** Appends a mark to the ledger until that is acknowledged, and ends. */
const MARK = `
const { LEDGER_SERVICE_HOST: host, LEDGER_SERVICE_PORT: port, JOB, JOB_COMPLETION_INDEX: index = '0', POD_UID } = process.env;
const mark = () => new Promise((resolve, reject) => {
  const signal = AbortSignal.timeout(5000);
  const sent = require('node:http').request({ host, port, method: 'POST', path: '/lines/${LEDGER}-0', agent: false, signal }, (response) => {
    response.resume().on('end', () => response.statusCode === 200 ? resolve() : reject(new Error('status ' + response.statusCode)));
    response.on('error', reject);
  });
  sent.on('error', reject);
  sent.end(JOB + '/' + index + '@' + POD_UID);
});
const again = () => mark().then(() => process.exit(0), () => setTimeout(again, 500));
again();
`;

function markingTemplate(image: string): PodTemplateSpec {
  const job = { fieldRef: { fieldPath: "metadata.labels['batch.kubernetes.io/job-name']" } };
  const main: Container = {
    name: 'main',
    image,
    command: ['node', '-e', MARK],
    env: [POD_UID_VARIABLE, { name: 'JOB', valueFrom: job }],
  };
  return { spec: { restartPolicy: 'Never', terminationGracePeriodSeconds: 1, containers: [main] } };
}

function cronJob(namespace: string, image: string): CronJob {
  const spec: Job['spec'] = { backoffLimit: 1000, template: markingTemplate(image) };
  return {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: CRON_JOB, namespace },
    // All Jobs of a run are kept, to be judged.
    spec: {
      schedule: '* * * * *',
      successfulJobsHistoryLimit: 1000,
      failedJobsHistoryLimit: 1000,
      jobTemplate: { spec },
    },
  };
}

function ledgerService(namespace: string): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: LEDGER, namespace },
    spec: { selector: { app: LEDGER }, ports: [{ port: 80, targetPort: 8080 }] },
  };
}

function ledger({ namespace, serviceImage }: WorkloadContext): StatefulSet {
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: LEDGER, namespace },
    spec: {
      serviceName: LEDGER,
      replicas: 1,
      selector: { matchLabels: { app: LEDGER } },
      template: serverTemplate(serviceImage, LEDGER, { volume: 'data' }),
      volumeClaimTemplates: [dataClaim('data')],
    },
  };
}
