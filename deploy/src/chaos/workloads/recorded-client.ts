import { errorMessage } from '@gantry/base';
import { type KubeObject, type ObjectKey, type Resource, StatusError } from '@gantry/objects';
import type { ClientOperation } from '@gantry/chaos-checker';
import type { HttpClient } from '@gantry/client';
import type { WorkloadContext } from './workload.ts';

/** What a request came to. `op` is its name in the record. */
export type Outcome = { readonly op: string } & Known;

type Known =
  /** `object` is absent where a read found none. */
  | { readonly kind: 'ok'; readonly object: KubeObject | undefined }
  /** Refused: it was not done. */
  | { readonly kind: 'fail'; readonly code: number }
  /** No response, or an error of the server: it may have been done, or be done later. */
  | { readonly kind: 'unknown' };

/** What a client asks. */
export interface Request {
  readonly verb: ClientOperation['verb'];
  readonly resource: Resource;
  readonly key: ObjectKey;
  readonly resourceVersion?: string | undefined;
  /** What is written. Values of one object are unique. */
  readonly value?: string;
  /** When it is due, of a load at a rate. It is sent later if the client still waited for the one before. */
  readonly dueMs?: number;
  /** `op` of the first attempt, if this is a further one. */
  readonly repeats?: string;
  /** The value of an object that is read or written. */
  readonly readValue?: (object: KubeObject) => string | undefined;
}

const REQUEST_MS = 15_000;

/** A client whose requests are recorded, as one file of the run. It sends one request at a time. */
export class RecordedClient {
  readonly api: HttpClient;
  readonly name: string;
  readonly #context: WorkloadContext;
  #operations = 0;

  constructor(context: WorkloadContext, name: string) {
    this.api = context.connect();
    this.name = name;
    this.#context = context;
  }

  /** Sends a request and records its outcome. Rejects only for defects of the caller. */
  async send(request: Request, work: (signal: AbortSignal) => Promise<KubeObject>): Promise<Outcome> {
    const { folder, tally, clock } = this.#context;
    const operation = {
      op: `${this.name}.${++this.#operations}`,
      verb: request.verb,
      resource: resourceName(request.resource),
      key: request.key.namespace === '' ? request.key.name : `${request.key.namespace}/${request.key.name}`,
    };
    const { resourceVersion, value, dueMs, repeats } = request;
    folder.client(this.name, {
      ...operation,
      phase: 'invoke',
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(value === undefined ? {} : { value }),
      ...(dueMs === undefined ? {} : { dueMs }),
      ...(repeats === undefined ? {} : { repeats }),
    });
    try {
      const object = await work(AbortSignal.timeout(REQUEST_MS));
      folder.client(this.name, { ...operation, phase: 'ok', ...describeObject(object, request) });
      tally.ack(clock.monotonicMs());
      return { op: operation.op, kind: 'ok', object };
    } catch (error) {
      return this.#failed(operation, error);
    }
  }

  #failed(operation: Pick<ClientOperation, 'op' | 'verb' | 'resource' | 'key'>, error: unknown): Outcome {
    const { folder, tally, clock } = this.#context;
    const code = error instanceof StatusError ? error.code : undefined;
    if (code === 404 && operation.verb === 'get') {
      folder.client(this.name, { ...operation, phase: 'ok' });
      tally.ack(clock.monotonicMs());
      return { op: operation.op, kind: 'ok', object: undefined };
    }
    const isRefused = code !== undefined && code >= 400 && code < 500;
    const described = { ...(code === undefined ? {} : { code }), message: errorMessage(error).slice(0, 300) };
    folder.client(this.name, { ...operation, phase: isRefused ? 'fail' : 'unknown', error: described });
    if (isRefused) {
      tally.refused++;
      return { op: operation.op, kind: 'fail', code };
    }
    tally.unknown++;
    return { op: operation.op, kind: 'unknown' };
  }
}

function describeObject(object: KubeObject, { readValue }: Request) {
  const value = readValue?.(object);
  const { resourceVersion, uid } = object.metadata;
  return {
    ...(value === undefined ? {} : { value }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(uid === undefined ? {} : { uid }),
  };
}

/** As in etcd's keys: `configmaps`, `apps/deployments`. */
export function resourceName({ group, resource }: Resource): string {
  return group === '' ? resource : `${group}/${resource}`;
}
