import {
  APPLY_PATCH_TYPE,
  apiVersionOf,
  isReason,
  type JsonObject,
  type KubeObject,
  StatusError,
  type SubresourceDefinition,
} from '@gantry/api';
import { replaceContent } from '../admission/index.ts';
import { isFixedIdentity } from '../auth/fixed-rights.ts';
import { SharedAnswer } from '../cache/index.ts';
import type { Answer, Body, RequestContext, Target, WriteOptions } from '../driver.ts';
import { Application, changeScale } from './apply.ts';
import type { ChangeWriter } from './change-writer.ts';
import type { CreateWriter } from './create-writer.ts';
import type { DriverDependencies } from './dependencies.ts';
import { fenceOf } from './fences.ts';
import { decodeBody, decodeOther, encodeProtobuf, patched, patchedOther } from './machinery.ts';
import { checkName, checkNamespace, copyOf } from './metadata.ts';
import { checkUpdatePreconditions } from './preconditions.ts';
import { SCALE_SCHEMA, type ScalePaths, scaleOf, withScale } from './subresources/scale.ts';
import { groupResource, requireSubresource } from './target.ts';

/** How often an object may come and go under an apply before it gives up. */
const APPLY_TRIES = 5;

/** PUT and PATCH, of objects and of their subresources. */
export class UpdateWriter {
  readonly #deps: DriverDependencies;
  readonly #changes: ChangeWriter;
  readonly #creates: CreateWriter;

  constructor(deps: DriverDependencies, parts: { changes: ChangeWriter; creates: CreateWriter }) {
    this.#deps = deps;
    this.#changes = parts.changes;
    this.#creates = parts.creates;
  }

  async update(
    context: RequestContext,
    target: Target,
    body: Body,
    options: WriteOptions,
  ): Promise<{ answer: Answer; created: boolean }> {
    const { definition } = target;
    const through = requireSubresource(target, 'update');
    // Who has no right is told so whatever he sent. What agents may do depends on the object.
    if (!isFixedIdentity(context.user)) this.#deps.authorizer.authorize(context.user, 'update', target, undefined);
    if (through?.scale !== undefined) {
      const sent = decodeOther(body, SCALE_SCHEMA, options, context);
      checkName(target, sent.metadata);
      checkNamespace(target, sent.metadata);
      return {
        answer: await this.#scale(context, target, options, through.scale, { change: () => sent, verb: 'update' }),
        created: false,
      };
    }
    const sent = decodeBody(body, definition, options, context);
    checkName(target, sent.metadata);
    checkNamespace(target, sent.metadata);
    const answer = await this.#changes.change({
      context,
      target,
      verb: 'update',
      options,
      through,
      managedSubresource: target.subresource,
      seen: sent.metadata.resourceVersion,
      mutate: (current) => {
        checkUpdatePreconditions(current, definition, sent.metadata);
        this.#requireVersion(target, sent, through);
        return copyOf(sent);
      },
    });
    if (answer !== undefined) return { answer, created: false };
    return { answer: await this.#createMissing(context, target, sent, options, through), created: true };
  }

  async patch(
    context: RequestContext,
    target: Target,
    patch: Uint8Array,
    patchType: string,
    options: WriteOptions,
  ): Promise<{ answer: Answer; created: boolean }> {
    const through = requireSubresource(target, 'patch');
    if (patchType === APPLY_PATCH_TYPE) return this.#apply(context, target, patch, options, through);
    return {
      answer: await this.#patch(context, target, { bytes: patch, type: patchType }, options, through),
      created: false,
    };
  }

  async #patch(
    context: RequestContext,
    target: Target,
    sent: { readonly bytes: Uint8Array; readonly type: string },
    options: WriteOptions,
    through: SubresourceDefinition | undefined,
  ): Promise<Answer> {
    const { definition } = target;
    if (through?.scale !== undefined) {
      const apply = (scale: KubeObject) => patchedOther(scale, sent, SCALE_SCHEMA, definition, options);
      return this.#scale(context, target, options, through.scale, { change: apply, verb: 'patch' });
    }
    const warned = new Set<string>();
    const answer = await this.#changes.change({
      context,
      target,
      verb: 'patch',
      options,
      through,
      managedSubresource: target.subresource,
      mutate: (current) => {
        const { object, warnings } = patched(current, sent, definition, options);
        for (const warning of warnings) {
          // A patch that is tried again warns once, and one that is refused in the end has warned all the same.
          if (!warned.has(warning)) context.warn(warning);
          warned.add(warning);
        }
        this.#checkPatched(target, object, current);
        this.#requireVersion(target, object, through);
        return object;
      },
    });
    if (answer === undefined) throw StatusError.notFound(groupResource(definition), target.name);
    return answer;
  }

  /** Server-side apply: like a patch, but it records owners itself, and makes what is not there. */
  async #apply(
    context: RequestContext,
    target: Target,
    bytes: Uint8Array,
    options: WriteOptions,
    through: SubresourceDefinition | undefined,
  ): Promise<{ answer: Answer; created: boolean }> {
    const { definition, name } = target;
    const application = new Application(target, bytes, options);
    const now = () => this.#deps.clock.now();
    if (through?.scale !== undefined) {
      const change = (scale: KubeObject) => application.toScale(scale, now());
      const scaled = { change, verb: 'patch', recorded: true } as const;
      const answer = await this.#scale(context, target, options, through.scale, scaled);
      return { answer: warned(context, application, answer), created: false };
    }
    for (let tries = 1; ; tries++) {
      const answer = await this.#changes.change({
        context,
        target,
        verb: 'patch',
        options,
        through,
        managedSubresource: undefined,
        mutate: (current) => {
          const object = application.to(current, now());
          this.#checkPatched(target, object, current);
          return object;
        },
      });
      if (answer !== undefined) return { answer: warned(context, application, answer), created: false };
      if (through !== undefined) throw StatusError.notFound(groupResource(definition), name);
      const fence = fenceOf(context, definition, name, 'create');
      const object = application.to(undefined, now());
      checkNamespace(target, object.metadata);
      checkName(target, object.metadata);
      delete object.metadata.resourceVersion;
      this.#deps.authorizer.authorize(context.user, 'create', target, object as unknown as JsonObject);
      try {
        const made = await this.#creates.createDecoded(context, target, object, options, fence, 'recorded');
        return { answer: warned(context, application, made), created: true };
      } catch (error) {
        // Somebody else has made it meanwhile: then it is there to be applied to.
        if (!isReason(error, 'AlreadyExists') || tries === APPLY_TRIES) throw error;
      }
    }
  }

  #checkPatched(target: Target, object: KubeObject, current: KubeObject): void {
    const { definition } = target;
    checkName(target, object.metadata);
    checkNamespace(target, object.metadata);
    object.apiVersion = apiVersionOf(definition);
    object.kind = definition.kind;
    checkUpdatePreconditions(current, definition, { resourceVersion: object.metadata.resourceVersion });
  }

  #requireVersion(target: Target, sent: KubeObject, through: SubresourceDefinition | undefined): void {
    const { definition, name } = target;
    if ((sent.metadata.resourceVersion ?? '') !== '') return;
    const isRequired = through?.requiresVersion ?? definition.strategy.allowUnconditionalUpdate === false;
    if (!isRequired) return;
    throw StatusError.invalid(definition.group, definition.resource, name, [
      {
        type: 'FieldValueInvalid',
        field: 'metadata.resourceVersion',
        value: 0,
        detail: 'must be specified for an update',
      },
    ]);
  }

  async #createMissing(
    context: RequestContext,
    target: Target,
    sent: KubeObject,
    options: WriteOptions,
    through: SubresourceDefinition | undefined,
  ): Promise<Answer> {
    const { definition, name } = target;
    if (definition.strategy.allowCreateOnUpdate !== true || through !== undefined) {
      throw StatusError.notFound(groupResource(definition), name);
    }
    if ((sent.metadata.uid ?? '') !== '') {
      const why = `Precondition failed: UID in precondition: ${sent.metadata.uid}, UID in object meta: `;
      throw StatusError.conflict(groupResource(definition), name, why);
    }
    if ((sent.metadata.resourceVersion ?? '') !== '') throw StatusError.notFound(groupResource(definition), name);
    const fence = fenceOf(context, definition, name, 'create');
    this.#deps.authorizer.authorize(context.user, 'create', target, undefined);
    return this.#creates.createDecoded(context, target, copyOf(sent), options, fence);
  }

  /** Changes the replicas by a Scale that is made from the present one. */
  async #scale(
    context: RequestContext,
    target: Target,
    options: WriteOptions,
    paths: ScalePaths,
    by: { change: (scale: KubeObject) => KubeObject; verb: 'update' | 'patch'; recorded?: boolean },
  ): Promise<Answer> {
    const { definition } = target;
    const { change, verb, recorded = false } = by;
    const answer = await this.#changes.change({
      context,
      target,
      verb,
      options,
      through: requireSubresource(target, verb),
      seenAs: {
        kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
        of: (object) => scaleOf(object, paths),
        put: (object, view) => replaceContent(object, withScale(object, view, paths)),
      },
      managedSubresource: undefined,
      mutate: (current) => {
        const now = this.#deps.clock.now();
        const scaled = { change, recorded, manager: options.fieldManager, now };
        const { object, scale } = changeScale(current, definition, paths, scaled);
        checkUpdatePreconditions(current, definition, scale.metadata);
        return object;
      },
    });
    if (answer === undefined) throw StatusError.notFound(groupResource(definition), target.name);
    return new SharedAnswer(scaleOf(answer.object, paths), encodeProtobuf);
  }
}

/** Warns of what an apply has to complain of. */
function warned(context: RequestContext, application: Application, answer: Answer): Answer {
  for (const warning of application.warnings) context.warn(warning);
  return answer;
}
