import {
  type Binding,
  type Eviction,
  findResource,
  type JsonObject,
  type KubeObject,
  type ServiceAccount,
  StatusError,
  type TokenRequest,
} from '@gantry/api';
import { must } from '@gantry/base';
import { SharedAnswer } from '../cache/index.ts';
import type { Answer, Body, RequestContext, Target, WriteOptions } from '../driver.ts';
import type { AdmissionChain } from './admission-chain.ts';
import type { ChangeWriter } from './change-writer.ts';
import type { DriverDependencies } from './dependencies.ts';
import type { EvictionWriter } from './eviction-writer.ts';
import { decodeOther, encodeProtobuf } from './machinery.ts';
import { bindPod } from './subresources/binding.ts';
import { EVICTION_SCHEMA } from './subresources/eviction.ts';
import { accountMissing, requestToken, TOKEN_REQUEST_SCHEMA } from './subresources/token-request.ts';
import { groupResource } from './target.ts';

const PODS = { group: '', version: 'v1', resource: 'pods' };

/** What is posted to subresources: bindings, evictions and token requests. */
export class SubresourceWriter {
  readonly #deps: DriverDependencies;
  readonly #admission: AdmissionChain;
  readonly #changes: ChangeWriter;
  readonly #evictions: EvictionWriter;

  constructor(
    deps: DriverDependencies,
    parts: { admission: AdmissionChain; changes: ChangeWriter; evictions: EvictionWriter },
  ) {
    this.#deps = deps;
    this.#admission = parts.admission;
    this.#changes = parts.changes;
    this.#evictions = parts.evictions;
  }

  /** POST to `<resource>/<name>/<subresource>`. */
  create(context: RequestContext, target: Target, body: Body, options: WriteOptions): Promise<Answer> {
    switch (`${target.definition.resource}/${target.subresource}`) {
      case 'pods/binding':
        return this.#bind(context, target, body, options);
      case 'pods/eviction':
        return this.#evict(context, target, body, options);
      case 'serviceaccounts/token':
        return this.#token(context, target, body, options);
      default:
        throw new StatusError('MethodNotAllowed', 'the server does not allow this method on the requested resource', {
          details: {},
        });
    }
  }

  async #evict(context: RequestContext, target: Target, body: Body, options: WriteOptions): Promise<Answer> {
    const eviction = decodeOther(body, EVICTION_SCHEMA, options, context) as Eviction & KubeObject;
    this.#deps.authorizer.authorize(context.user, 'create', target, undefined);
    await this.#admission.admit({
      context,
      target,
      operation: 'create',
      kind: { group: 'policy', version: 'v1', kind: 'Eviction' },
      object: eviction,
      old: undefined,
      write: options,
    });
    await this.#evictions.evict(context, target, eviction, options);
    return new SharedAnswer(success(), encodeProtobuf);
  }

  /** POST to `bindings`: the pod is the one that the body names. */
  async createBinding(context: RequestContext, target: Target, body: Body, options: WriteOptions): Promise<Answer> {
    const binding = decodeOther(body, 'core.v1.Binding', options, context) as Binding & KubeObject;
    const definition = must(findResource(PODS), 'the definition of pods');
    const name = binding.metadata.name ?? '';
    return this.#bindDecoded(
      context,
      { definition, namespace: target.namespace, name, subresource: 'binding' },
      binding,
      options,
    );
  }

  async #bind(context: RequestContext, target: Target, body: Body, options: WriteOptions): Promise<Answer> {
    const binding = decodeOther(body, 'core.v1.Binding', options, context) as Binding & KubeObject;
    const sent = binding.metadata.name ?? '';
    if (sent !== '' && sent !== target.name) {
      throw StatusError.badRequest('name in URL does not match name in Binding object');
    }
    return this.#bindDecoded(context, target, binding, options);
  }

  async #bindDecoded(
    context: RequestContext,
    target: Target,
    binding: Binding & KubeObject,
    options: WriteOptions,
  ): Promise<Answer> {
    const { definition, namespace, name } = target;
    const sent = binding.metadata.namespace ?? '';
    if (sent !== '' && sent !== namespace) {
      throw StatusError.badRequest(
        'the namespace of the provided object does not match the namespace sent on the request',
      );
    }
    const errors = findResource({ group: '', version: 'v1', resource: 'bindings' })?.strategy.validate?.(binding) ?? [];
    if (errors.length > 0) throw StatusError.invalid('', 'Binding', name, errors);
    this.#deps.authorizer.authorize(context.user, 'create', target, undefined);
    await this.#admission.admit({
      context,
      target,
      operation: 'create',
      kind: { group: '', version: 'v1', kind: 'Binding' },
      object: binding,
      old: undefined,
      write: options,
    });
    const now = this.#deps.clock.now();
    const answer = await this.#changes.change({
      context,
      target,
      admission: 'done',
      verb: 'create',
      options,
      through: { name: 'binding', verbs: ['create'] },
      managedSubresource: undefined,
      mutate: (pod) => bindPod(pod, binding, definition, now),
    });
    if (answer === undefined) throw StatusError.notFound(groupResource(definition), name);
    return new SharedAnswer(success(), encodeProtobuf);
  }

  async #token(context: RequestContext, target: Target, body: Body, options: WriteOptions): Promise<Answer> {
    const { definition, name, namespace } = target;
    const reader = this.#admission.lookups(context.signal);
    const account = await reader.find<ServiceAccount>(definition, namespace, name);
    const request = decodeOther(body, TOKEN_REQUEST_SCHEMA, options, context) as TokenRequest & KubeObject;
    this.#deps.authorizer.authorize(context.user, 'create', target, request as unknown as JsonObject);
    if (account === undefined) throw accountMissing(name);
    await this.#admission.admit({
      context,
      target,
      operation: 'create',
      kind: { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' },
      object: request,
      old: undefined,
      write: options,
    });
    const now = this.#deps.clock.now();
    const answer = await requestToken(account, request, { reader, issuer: this.#deps.tokenIssuer, now });
    return new SharedAnswer(answer, encodeProtobuf);
  }
}

/** What a POST that makes no object answers. */
function success(): KubeObject {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 } as KubeObject;
}
