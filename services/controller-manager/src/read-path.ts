import { parseJson } from '@gantry/apimachinery';
import type { HttpClient } from '@gantry/client';
import { type JsonObject, StatusError } from '@gantry/objects';
import type { ReadPath } from './controllers/horizontal-pod-autoscaler/rest-reader.ts';

/** Reads paths over REST, where the API server forwards what extension servers serve. */
export function createReadPath(client: Pick<HttpClient, 'raw'>): ReadPath {
  return async (path, signal) => {
    const value = parseJson(await client.raw({ method: 'GET', path }, signal));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
    throw StatusError.internal(`the response to ${path} is no object`);
  };
}
