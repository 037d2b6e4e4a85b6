import {
  type Container,
  type KubeObject,
  LIMIT_RANGES,
  type LimitRange,
  type LimitRangeItem,
  type PersistentVolumeClaim,
  type Pod,
  podAmounts,
} from '@gantry/objects';
import { type AdmissionCheck, type AdmissionReader, type AdmissionRequest, isCore } from '../check/admission-check.ts';
import { aggregate, refuse } from '../check/refuse.ts';
import { enforce, maximum, maximumRatio, maximumRequest, minimum, type Usage } from './constraints.ts';

const ANNOTATION = 'kubernetes.io/limit-ranger';

/** Checks containers, pods and claims against the LimitRanges of their namespace, and sets the defaults of containers. */
export const limitRanger: AdmissionCheck = {
  name: 'LimitRanger',
  mutate: async (request, reader) => {
    if (!isCore(request, 'pods') && !isCore(request, 'pods', 'resize')) return;
    const pod = request.object as Pod;
    for (const range of await rangesFor(request, reader)) setDefaults(pod, range);
  },
  validate: async (request, reader) => {
    for (const range of await rangesFor(request, reader)) {
      const complaints = (range.spec?.limits ?? []).flatMap((limit) => complaintsOf(limit, request));
      if (complaints.length > 0) throw refuse(request, aggregate(complaints));
    }
  },
};

async function rangesFor(
  request: AdmissionRequest,
  reader: AdmissionReader,
): Promise<readonly (LimitRange & KubeObject)[]> {
  const { operation, old, namespace } = request;
  if (operation !== 'create' && operation !== 'update') return [];
  const isPod = isCore(request, 'pods') && operation === 'create';
  const isResize = isCore(request, 'pods', 'resize') && operation === 'update';
  if (!isPod && !isResize && !isCore(request, 'persistentvolumeclaims')) return [];
  if (old?.metadata.deletionTimestamp !== undefined) return [];
  return reader.list<LimitRange>(LIMIT_RANGES, namespace);
}

function setDefaults(pod: Pod, range: LimitRange): void {
  const limits = (range.spec?.limits ?? []).filter(({ type }) => type === 'Container');
  const defaults: Usage = {
    requests: Object.assign({}, ...limits.map(({ defaultRequest }) => defaultRequest ?? {})) as Record<string, string>,
    limits: Object.assign({}, ...limits.map((limit) => limit.default ?? {})) as Record<string, string>,
  };
  const said = [
    ...(pod.spec?.containers ?? []).flatMap((one) => fillIn(one, defaults, 'container')),
    ...(pod.spec?.initContainers ?? []).flatMap((one) => fillIn(one, defaults, 'init container')),
  ];
  if (said.length === 0) return;
  const text = `LimitRanger plugin set: ${said.join('; ')}`;
  pod.metadata.annotations = { ...pod.metadata.annotations, [ANNOTATION]: text };
}

/** Sets the missing requests and limits of a container. Returns a description of each. */
function fillIn(container: Container, defaults: Usage, kind: string): string[] {
  return (['requests', 'limits'] as const).flatMap((of) => {
    const present = container.resources?.[of] ?? {};
    const missing = Object.keys(defaults[of]).filter((name) => !Object.hasOwn(present, name));
    if (missing.length === 0) return [];
    const added = Object.fromEntries(missing.map((name) => [name, defaults[of][name] ?? '0']));
    container.resources = { ...container.resources, [of]: { ...present, ...added } };
    return [`${missing.sort().join(', ')} ${of.slice(0, -1)} for ${kind} ${container.name}`];
  });
}

function complaintsOf(limit: LimitRangeItem, request: AdmissionRequest): string[] {
  const { type } = limit;
  if (request.definition.resource === 'persistentvolumeclaims') {
    if (type !== 'PersistentVolumeClaim') return [];
    const { spec } = request.object as PersistentVolumeClaim;
    const usage: Usage = { requests: spec?.resources?.requests ?? {}, limits: {} };
    return [...enforce(minimum, type, limit.min, usage), ...enforce(maximumRequest, type, limit.max, usage)];
  }
  const { spec } = request.object as Pod;
  if (spec === undefined) return [];
  const judge = (usage: Usage): string[] => [
    ...enforce(minimum, type, limit.min, usage),
    ...enforce(maximum, type, limit.max, usage),
    ...enforce(maximumRatio, type, limit.maxLimitRequestRatio, usage),
  ];
  if (type === 'Pod') return judge({ requests: podAmounts(spec, 'requests'), limits: podAmounts(spec, 'limits') });
  if (type !== 'Container') return [];
  const containers: Container[] = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  return containers.flatMap(({ resources }) =>
    judge({ requests: resources?.requests ?? {}, limits: resources?.limits ?? {} }),
  );
}
