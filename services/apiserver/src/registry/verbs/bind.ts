import { errorsOf, type ResourceDefinition } from '@gantry/apimachinery';
import { findResource } from '@gantry/kinds';
import { type Binding, BINDINGS, cloneJson, equalJson, type KubeObject, type Pod, StatusError } from '@gantry/objects';
import { replaceContent } from '../../admission/index.ts';
import { decodeKind } from '../objects/decode-body.ts';
import { ChangedObject } from '../drafts/changed-object.ts';
import type { Body } from '../contract/registry.ts';
import { responseOf } from '../objects/response-of.ts';
import type { WriteVerb } from '../writing/write.ts';
import { formatTime, type Instant } from '@gantry/base';
import { checkUpdatePreconditions } from '../objects/preconditions.ts';

/** The response to a POST that creates no object. */
export function success(): KubeObject {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 } as KubeObject;
}

/** POST of a Binding, which assigns a pod to a node. Admission checks the Binding. If the path has no name, the body has it. */
export const bind: WriteVerb<Body, Binding & KubeObject> = {
  right: 'create',
  startsFrom: 'stored',
  decode: async (request, body) => {
    const sent = (await decodeKind(request, body, 'core.v1.Binding')) as Binding & KubeObject;
    const { namespace, name } = request.target;
    const { name: named = '', namespace: sentNamespace = '' } = sent.metadata;
    if (name !== '' && named !== '' && named !== name) {
      throw StatusError.badRequest('name in URL does not match name in Binding object');
    }
    if (sentNamespace !== '' && sentNamespace !== namespace) {
      throw StatusError.badRequest(
        'the namespace of the provided object does not match the namespace sent on the request',
      );
    }
    const target = name === '' ? { ...request.target, name: named } : request.target;
    const bindings = findResource(BINDINGS);
    const errors = errorsOf(bindings?.strategy.validate?.(sent));
    if (errors.length > 0) throw StatusError.invalid('', 'Binding', target.name, errors);
    return { sent, target };
  },
  draft: (parts, attempt) => {
    const { stored, sent, target, now } = attempt;
    if (stored === undefined) return undefined;
    const bound = (binding: Binding) => bindPod(stored.object, binding, target.definition, now);
    const view = {
      operation: 'create',
      kind: { group: '', version: 'v1', kind: 'Binding' },
      of: () => cloneJson(sent),
      old: undefined,
      put: (pod: KubeObject, binding: KubeObject) => {
        if (!equalJson(binding, sent)) replaceContent(pod, bound(binding as Binding & KubeObject));
      },
    } as const;
    return new ChangedObject(parts, attempt, {
      stored,
      object: bound(sent),
      managers: 'recorded',
      generation: 'kept',
      view,
    });
  },
  respond: () => responseOf(success()),
};

/** Assigns a pod to the node of a Binding and returns the new pod. Throws Conflict when the pod cannot be assigned any more. Pure. */
export function bindPod(pod: Pod, binding: Binding, pods: ResourceDefinition, now: Instant): Pod {
  const { name = '' } = pod.metadata;
  const refuse = (why: string) => StatusError.conflict({ group: '', resource: 'pods/binding' }, name, why);
  checkUpdatePreconditions(pod, pods, binding.metadata);
  if (pod.metadata.deletionTimestamp !== undefined) {
    throw refuse(`pod ${name} is being deleted, cannot be assigned to a host`);
  }
  const assigned = pod.spec?.nodeName ?? '';
  if (assigned !== '') throw refuse(`pod ${name} is already assigned to node ${JSON.stringify(assigned)}`);
  if ((pod.spec?.schedulingGates ?? []).length > 0) throw refuse(`pod ${name} has non-empty .spec.schedulingGates`);
  const bound = cloneJson(pod);
  bound.spec = { ...bound.spec, containers: bound.spec?.containers ?? [], nodeName: binding.target.name ?? '' };
  const annotations = { ...bound.metadata.annotations, ...binding.metadata.annotations };
  if (Object.keys(annotations).length > 0) bound.metadata.annotations = annotations;
  // The labels come from admission, which copies the topology labels of the node.
  if (Object.keys(binding.metadata.labels ?? {}).length > 0) {
    bound.metadata.labels = { ...bound.metadata.labels, ...binding.metadata.labels };
  }
  const others = (bound.status?.conditions ?? []).filter((condition) => condition.type !== 'PodScheduled');
  const scheduled = {
    type: 'PodScheduled',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: formatTime(now),
  } as unknown as (typeof others)[number];
  const { nominatedNodeName: _, ...status } = bound.status ?? {};
  bound.status = { ...status, conditions: [...others, scheduled] };
  return bound;
}
