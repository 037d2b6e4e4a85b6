import { append } from '@gantry/base';
import {
  type Container,
  type FieldError,
  type Pod,
  type PodSpec,
  type ResourceRequirements,
  cloneJson,
  equalJson,
  forbidden,
  invalid,
  MIRROR_ANNOTATION,
} from '@gantry/objects';
import { podQosClass } from './qos.ts';

const RESIZABLE = ['cpu', 'memory'];
const ONLY = 'only cpu and memory resources are mutable';
const EMPTY: PodSpec = { containers: [] };

/** Checks a resize: it may change amounts of CPU and memory, but not the QoS class. */
export function validateResize(object: Pod, old: Pod): FieldError[] {
  const spec = object.spec ?? EMPTY;
  const before = old.spec ?? EMPTY;
  if (old.metadata.annotations?.[MIRROR_ANNOTATION] !== undefined)
    return [forbidden('', 'static pods cannot be resized')];
  if (before.os?.name === 'windows') return [forbidden('', 'windows pods cannot be resized')];
  const errors: FieldError[] = [];
  if ((old.status?.qosClass ?? podQosClass(before)) !== podQosClass(spec)) {
    const detail = 'Pod QOS Class may not change as a result of resizing';
    errors.push(invalid('spec', object.status?.qosClass ?? '', detail));
  }
  if (!isSupported(old)) errors.push(forbidden('spec', 'Pod running on node without support for resize'));
  append(errors, validateOfPod(spec.resources, before.resources));
  const order = validateOrder(spec, before);
  append(errors, order);
  if (order.length > 0) return errors;
  for (const field of ['initContainers', 'containers'] as const) {
    (before[field] ?? []).forEach((container, i) => {
      const path = `spec.${field}[${i}].resources`;
      append(errors, validateRemoved(spec[field]?.[i]?.resources, container.resources, path));
    });
  }
  const munged = cloneJson(spec);
  munged.containers = unsized(spec.containers, before.containers);
  munged.containers.forEach((container, i) => {
    if (!equalJson(container, before.containers[i])) errors.push(forbidden('spec', ONLY));
  });
  if (munged.initContainers !== undefined) {
    munged.initContainers = unsized(munged.initContainers, before.initContainers);
    append(errors, validateInit(munged.initContainers, spec, before));
  }
  const whole = withoutSizes(spec.resources, before.resources);
  if (whole === undefined) delete munged.resources;
  else munged.resources = whole;
  return errors.length > 0 || equalJson(munged, before) ? errors : [forbidden('spec', ONLY)];
}

/** The pod-level resources. */
function validateOfPod(
  resources: ResourceRequirements | undefined,
  before: ResourceRequirements | undefined,
): FieldError[] {
  if (before !== undefined && resources === undefined) {
    return [forbidden('spec.resources', 'pod-level resources cannot be removed')];
  }
  const errors = validateRemoved(resources, before, 'spec.resources', 'pod-level resource');
  if (!equalJson(withoutSizes(resources, before), before)) {
    errors.push(forbidden('spec', 'only cpu and memory resources are mutable at pod-level'));
  }
  return errors;
}

function validateInit(munged: readonly Container[], spec: PodSpec, before: PodSpec): FieldError[] {
  return munged.flatMap((container, i) => {
    const old = before.initContainers?.[i];
    const path = `spec.initContainers[${i}]`;
    const errors: FieldError[] = [];
    if (!equalJson(container, old)) {
      errors.push(forbidden(path, 'only cpu and memory resources for init or sidecar containers are mutable'));
    }
    const isChanged = !equalJson(spec.initContainers?.[i], old);
    if (!isChanged || container.restartPolicy === 'Always') return errors;
    return (container.resizePolicy ?? []).some(({ restartPolicy }) => restartPolicy === 'RestartContainer')
      ? [
          ...errors,
          forbidden(path, 'non-sidecar init containers with a resize policy of RestartContainer cannot be resized'),
        ]
      : errors;
  });
}

/** Whether the node reports the resources of running containers: a node that does not cannot resize them. */
function isSupported({ status }: Pod): boolean {
  const running = (status?.containerStatuses ?? []).find(({ state }) => state?.running !== undefined);
  return running === undefined || running.resources !== undefined;
}

function validateOrder(spec: PodSpec, before: PodSpec): FieldError[] {
  return (['containers', 'initContainers'] as const).flatMap((field) => {
    const containers = spec[field] ?? [];
    const old = before[field] ?? [];
    if (containers.length !== old.length) {
      return [forbidden(`spec.${field}`, `${field} may not be added or removed on resize`)];
    }
    return old.flatMap(({ name }, i) =>
      containers[i]?.name === name
        ? []
        : [forbidden(`spec.${field}[${i}].name`, `${field} may not be renamed or reordered on resize`)],
    );
  });
}

function validateRemoved(
  resources: ResourceRequirements | undefined,
  before: ResourceRequirements | undefined,
  path: string,
  what = 'resource',
): FieldError[] {
  return (['requests', 'limits'] as const).flatMap((list) => {
    const isRemoved = Object.keys(before?.[list] ?? {}).some((name) => resources?.[list]?.[name] === undefined);
    return isRemoved ? [forbidden(`${path}.${list}`, `${what} ${list} cannot be removed`)] : [];
  });
}

/** The containers with their previous resources. */
function unsized(containers: readonly Container[], before: readonly Container[] | undefined): Container[] {
  return containers.map((container, i) => {
    const { resources: _, ...rest } = container;
    const resources = withoutSizes(container.resources, before?.[i]?.resources);
    return resources === undefined ? rest : { ...rest, resources };
  });
}

function withoutSizes(
  resources: ResourceRequirements | undefined,
  before: ResourceRequirements | undefined,
): ResourceRequirements | undefined {
  const munged: ResourceRequirements = { ...(before?.claims === undefined ? {} : { claims: before.claims }) };
  for (const list of ['limits', 'requests'] as const) {
    const others = Object.entries(resources?.[list] ?? {}).filter(([name]) => !RESIZABLE.includes(name));
    const sizes = Object.entries(before?.[list] ?? {}).filter(([name]) => RESIZABLE.includes(name));
    if (others.length + sizes.length > 0) munged[list] = Object.fromEntries([...others, ...sizes]);
  }
  const isNothing = Object.keys(munged).length === 0 && before === undefined;
  return isNothing ? undefined : munged;
}
