import {
  type ResourceDefinition,
  applyPatch,
  parsePlainBody,
  schemaOfKind,
  normaliseShape,
} from '@gantry/apimachinery';
import { type KubeObject, type MutatingWebhookConfiguration, StatusError, equalJson } from '@gantry/objects';
import { errorMessage } from '@gantry/base';
import { type AdmissionCheck, type AdmissionRequest, replaceContent } from '../check/admission-check.ts';
import { convertObject, isExempt } from '../check/request-matching.ts';
import { ReinvocationNotes } from '../check/reinvocation-notes.ts';
import type { ReviewResponse } from './admission-review.ts';
import { askWebhook, failure, type WebhookDependencies } from './ask-webhook.ts';
import { hooksOf, wanted } from './webhook-list.ts';

const NAME = 'MutatingAdmissionWebhook';
const CONFIGURATIONS = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'mutatingwebhookconfigurations',
};

/** The check of mutating webhooks. They are called one after the other. */
export function mutatingWebhooks(dependencies: WebhookDependencies): AdmissionCheck {
  return {
    name: NAME,
    mutate: async (request, reader) => {
      if (isExempt(request)) return;
      const hooks = hooksOf(await reader.list<MutatingWebhookConfiguration>(CONFIGURATIONS, ''));
      const notes = ReinvocationNotes.of(request, NAME);
      const round = request.reinvocation.again ? 1 : 0;
      for (const [index, hook] of hooks.entries()) {
        const as = await wanted(hook, request, reader, dependencies.access);
        const { webhook, id } = hook;
        if (as === undefined || notes.passes(request, id)) continue;
        const at = `round_${round}_index_${index}` as const;
        const answer = await askWebhook(webhook, 'mutating', request, as, { ...dependencies, at });
        const mutated = answer?.patch !== undefined && (await applyAnswer(answer, request, as, webhook));
        if (mutated) notes.changed(request);
        if (answer !== undefined) {
          const value = JSON.stringify({ configuration: hook.configuration, webhook: webhook.name, mutated });
          request.annotate(`mutation.webhook.admission.k8s.io/${at}`, value);
          if (mutated) annotatePatch(request, at, hook, answer.patch);
        }
        notes.asked(id, webhook.reinvocationPolicy);
      }
      notes.done(request.object);
    },
  };
}

/** Adds an audit annotation with an applied patch, only if the policy logs bodies: a patch may contain the same data. */
function annotatePatch(
  request: AdmissionRequest,
  at: string,
  { configuration, webhook }: { readonly configuration: string; readonly webhook: { readonly name: string } },
  patch: Buffer | undefined,
): void {
  const operations = patch === undefined ? undefined : parsePatch(patch);
  const value = JSON.stringify({ configuration, webhook: webhook.name, patch: operations, patchType: 'JSONPatch' });
  request.annotate(`patch.webhook.admission.k8s.io/${at}`, value, 'Request');
}

/** Applies the patch of a webhook. Returns whether the object has changed. */
async function applyAnswer(
  { patch, patchType }: ReviewResponse,
  request: AdmissionRequest,
  as: ResourceDefinition,
  webhook: { readonly name: string; readonly failurePolicy?: string },
): Promise<boolean> {
  if (patch === undefined) return false;
  const operations = parsePatch(patch);
  if (operations === undefined || patchType !== 'JSONPatch') {
    if (webhook.failurePolicy === 'Ignore') return false;
    const undecodable = 'received undecodable patch in webhook response: json: cannot unmarshal';
    throw failure(webhook.name, operations === undefined ? undecodable : `unsupported patch type "${patchType}"`);
  }
  if (operations.length === 0) return false;
  if (request.operation === 'delete') {
    const why = `admission webhook "${webhook.name}" attempted to modify the object, which is not supported for this operation`;
    throw StatusError.internal(why);
  }
  const { definition, object, kind } = request;
  const own = kind.kind === definition.kind && kind.group === definition.group;
  const shown = own ? await convertObject(object, definition, as) : object;
  const changed = patchedObject(
    shown,
    patch,
    as,
    own ? undefined : schemaOfKind({ apiVersion: apiVersionOfKind(kind), kind: kind.kind }),
  );
  const result = own ? await convertObject(changed, as, definition) : changed;
  if (equalJson(object, result)) return false;
  replaceContent(object, result);
  return true;
}

function apiVersionOfKind({ group, version }: AdmissionRequest['kind']): string {
  return group === '' ? version : `${group}/${version}`;
}

function parsePatch(patch: Buffer): readonly unknown[] | undefined {
  try {
    const value = parsePlainBody(patch, 'json');
    return Array.isArray(value) ? value : undefined;
  } catch {
    // The caller reports it as an invalid patch.
    return undefined;
  }
}

/** The patched object, decoded like a request body: without unknown fields, with defaults. */
function patchedObject(
  object: KubeObject,
  patch: Buffer,
  as: ResourceDefinition,
  schema: string | undefined,
): KubeObject {
  try {
    const json = { type: 'application/json-patch+json', bytes: patch };
    const { object: changed } = applyPatch(object, json, { definition: as, mode: 'Ignore', schema });
    const result = changed as KubeObject;
    if (schema !== undefined) return result;
    as.strategy.applyDefaults?.(result);
    return normaliseShape(result, as.schema);
  } catch (error) {
    throw StatusError.internal(errorMessage(error));
  }
}
