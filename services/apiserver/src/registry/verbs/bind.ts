import { errorsOf } from '@gantry/apimachinery';
import { findResource } from '@gantry/kinds';
import { type Binding, BINDINGS, cloneJson, equalJson, type KubeObject, StatusError } from '@gantry/objects';
import { replaceContent } from '../../admission/index.ts';
import { decodeKind } from '../objects/decode-body.ts';
import { ChangedObject } from '../drafts/changed-object.ts';
import type { Body } from '../contract/registry.ts';
import { responseOf } from '../objects/response-of.ts';
import { bindPod } from '../subresources/binding.ts';
import type { WriteVerb } from '../writing/write.ts';
import { success } from './success.ts';

/** POST of a Binding, which assigns a pod to a node. Admission judges the Binding. Without a name in the path, the body has it. */
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
