import { ApiException, type V1Status } from '@kubernetes/client-node';
import { expect } from 'vitest';

/** The Status that a call is refused with; the test fails when it is not refused. */
export async function refusal(call: Promise<unknown>): Promise<V1Status & { readonly code: number }> {
  let answer: unknown;
  try {
    answer = await call;
  } catch (error) {
    if (!(error instanceof ApiException)) throw error;
    const body: unknown = error.body;
    const status = (typeof body === 'string' ? JSON.parse(body) : body) as V1Status;
    return { ...status, code: error.code };
  }
  throw new Error(`was not refused, but answered ${JSON.stringify(answer).slice(0, 400)}`);
}

export async function expectNotFound(call: Promise<unknown>): Promise<void> {
  expect(await refusal(call)).toMatchObject({ code: 404, reason: 'NotFound' });
}

export async function expectAlreadyExists(call: Promise<unknown>): Promise<void> {
  expect(await refusal(call)).toMatchObject({ code: 409, reason: 'AlreadyExists' });
}

export async function expectInvalid(call: Promise<unknown>): Promise<string> {
  const status = await refusal(call);
  expect(status).toMatchObject({ code: 422, reason: 'Invalid' });
  return status.message ?? '';
}

interface Versioned {
  readonly metadata?: { readonly resourceVersion?: string };
}

/** The version as a number that can be compared with another's. */
export function versionOf(object: Versioned): bigint {
  const text = object.metadata?.resourceVersion ?? '';
  expect(text).toMatch(/^[1-9][0-9]*$/);
  return BigInt(text);
}

export function expectNewer(newer: Versioned, older: Versioned): void {
  expect(versionOf(newer) > versionOf(older)).toBe(true);
}

const CONFLICT_RETRIES = 10;

/** Reads, changes and writes until no other write came in between. */
export async function retryOnConflict<T>(attempt: () => Promise<T>): Promise<T> {
  for (let left = CONFLICT_RETRIES; ; left--) {
    try {
      return await attempt();
    } catch (error) {
      if (left === 0 || !(error instanceof ApiException) || error.code !== 409) throw error;
    }
  }
}
