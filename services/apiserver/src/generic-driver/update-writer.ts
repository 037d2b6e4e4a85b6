import { apiVersionOf, type KubeObject, type Scale, StatusError, type SubresourceDefinition } from '@gantry/api';
import { SharedAnswer } from '../cache/index.ts';
import type { Answer, Body, RequestContext, Target, WriteOptions } from '../driver.ts';
import type { ChangeWriter } from './change-writer.ts';
import type { CreateWriter } from './create-writer.ts';
import type { DriverDependencies } from './dependencies.ts';
import { fenceOf } from './fences.ts';
import { decodeBody, decodeOther, encodeProtobuf, patched, patchedOther } from './machinery.ts';
import { checkName, checkNamespace, copyOf } from './metadata.ts';
import { checkUpdatePreconditions } from './preconditions.ts';
import { SCALE_SCHEMA, type ScalePaths, scaleOf, withScale } from './subresources/scale.ts';
import { groupResource, requireSubresource } from './target.ts';

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
    if (through?.scale !== undefined) {
      const sent = decodeOther(body, SCALE_SCHEMA, options, context);
      checkName(target, sent.metadata);
      checkNamespace(target, sent.metadata);
      return {
        answer: await this.#scale(context, target, options, through.scale, () => sent, 'update'),
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
  ): Promise<Answer> {
    const { definition } = target;
    const through = requireSubresource(target, 'patch');
    const sent = { bytes: patch, type: patchType };
    if (through?.scale !== undefined) {
      const apply = (scale: KubeObject) => patchedOther(scale, sent, SCALE_SCHEMA, definition, options);
      return this.#scale(context, target, options, through.scale, apply, 'patch');
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
        for (const warning of warnings) warned.add(warning);
        this.#checkPatched(target, object, current);
        return object;
      },
    });
    for (const warning of warned) context.warn(warning);
    if (answer === undefined) throw StatusError.notFound(groupResource(definition), target.name);
    return answer;
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
    if ((sent.metadata.resourceVersion ?? '') !== '' || through !== undefined) return;
    if (definition.strategy.allowUnconditionalUpdate !== false) return;
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
    change: (scale: KubeObject) => KubeObject,
    verb: 'update' | 'patch',
  ): Promise<Answer> {
    const { definition } = target;
    const answer = await this.#changes.change({
      context,
      target,
      verb,
      options,
      through: { name: 'scale', verbs: ['get', 'patch', 'update'] },
      managedSubresource: 'scale',
      mutate: (current) => {
        const scale = change(scaleOf(current, paths)) as Scale & KubeObject;
        checkUpdatePreconditions(current, definition, scale.metadata);
        return withScale(current, scale, paths);
      },
    });
    if (answer === undefined) throw StatusError.notFound(groupResource(definition), target.name);
    return new SharedAnswer(scaleOf(answer.object, paths), encodeProtobuf);
  }
}
