import { type Container, type Job, type Pod, TRACKING_FINALIZER } from '@gantry/objects';
import { podFromTemplate } from '../../libraries/pods/pod-template.ts';
import { FAILURE_COUNT, failureCountsAfter, IGNORED_FAILURE_COUNT } from './index-counts.ts';
import { COMPLETION_INDEX, limitsEachIndex } from './job-rules.ts';

const INDEX_VARIABLE = 'JOB_COMPLETION_INDEX';
/** The API server adds five characters to a generated name of a pod, which is also its host name. */
const MAX_PREFIX = 58;

/**
 * Creates a pod of a Job, with the tracking finalizer. With a completion index, the pod has the index in its name, host name, labels,
 * annotations and environment, and takes over the failure counts of the pod that it replaces.
 */
export function newJobPod(job: Job, index: number | undefined, replaced: Pod | undefined): Pod {
  const pod = podFromTemplate(job.spec?.template, job);
  const finalizers = pod.metadata.finalizers ?? [];
  if (!finalizers.includes(TRACKING_FINALIZER)) pod.metadata.finalizers = [...finalizers, TRACKING_FINALIZER];
  return index === undefined ? pod : withIndex(pod, job, index, replaced);
}

function withIndex(pod: Pod, job: Job, index: number, replaced: Pod | undefined): Pod {
  const name = job.metadata.name ?? '';
  const { counted, ignored } = failureCountsAfter(job, replaced);
  const { containers = [], initContainers, ...spec } = pod.spec ?? { containers: [] };
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      generateName: indexedPrefix(name, index),
      labels: { ...pod.metadata.labels, [COMPLETION_INDEX]: String(index) },
      annotations: {
        ...pod.metadata.annotations,
        [COMPLETION_INDEX]: String(index),
        ...(limitsEachIndex(job) ? { [FAILURE_COUNT]: String(counted) } : {}),
        ...(limitsEachIndex(job) && ignored > 0 ? { [IGNORED_FAILURE_COUNT]: String(ignored) } : {}),
      },
    },
    spec: {
      ...spec,
      hostname: `${name}-${index}`,
      ...(initContainers === undefined ? {} : { initContainers: initContainers.map(withIndexVariable) }),
      containers: containers.map(withIndexVariable),
    },
  };
}

function indexedPrefix(name: string, index: number): string {
  const end = `-${index}-`;
  return `${name.slice(0, MAX_PREFIX - end.length)}${end}`;
}

/** A variable with this name in the template is kept. */
function withIndexVariable(container: Container): Container {
  const { env = [] } = container;
  if (env.some(({ name }) => name === INDEX_VARIABLE)) return container;
  const fieldRef = { fieldPath: `metadata.labels['${COMPLETION_INDEX}']` };
  return { ...container, env: [...env, { name: INDEX_VARIABLE, valueFrom: { fieldRef } }] };
}
