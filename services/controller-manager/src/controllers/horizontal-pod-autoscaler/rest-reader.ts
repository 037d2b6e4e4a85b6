import { errorMessage } from '@gantry/base';
import { type JsonObject, StatusError } from '@gantry/objects';

/** Reads a path of the API with a linearizable GET: what extension servers serve, and subresources. Fails with StatusError. */
export type ReadPath = (path: string, signal: AbortSignal) => Promise<JsonObject>;

const GENERIC: Readonly<Record<number, string>> = {
  404: 'the server could not find the requested resource',
  503: 'the server is currently unable to handle the request',
};

/**
 * Why a read failed, in the words of Kubernetes' client, which has its own for responses that are no Status: they name the
 * resource, and the object where one was asked for.
 */
export function readFailure(error: unknown, resource: string): string {
  if (error instanceof StatusError && error.details === undefined) {
    const generic = GENERIC[error.code];
    if (generic !== undefined) return `${generic} (get ${resource})`;
  }
  return errorMessage(error);
}
