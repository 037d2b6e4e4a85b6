import { atOnce } from '@gantry/base';
import { findResource } from '@gantry/kinds';
import { must } from '@gantry/base';
import { describe, expect, it } from 'vitest';
import { type AdmissionRequest, Reinvocation } from '../check/admission-check.ts';
import { askWebhook } from './ask-webhook.ts';

const CONFIG_MAPS = must(findResource({ group: '', version: 'v1', resource: 'configmaps' }), 'configmaps');
const KIND = { group: '', version: 'v1', kind: 'ConfigMap' };

/** Calls a webhook with these side effects. Returns the number of calls and the error. */
async function ask(sideEffects: string, dryRun: boolean) {
  let calls = 0;
  const webhook = {
    name: 'hook.example.com',
    sideEffects,
    admissionReviewVersions: ['v1'],
    clientConfig: { url: 'https://hook.example.com' },
    failurePolicy: 'Fail',
  };
  const request: AdmissionRequest = {
    operation: 'create',
    definition: CONFIG_MAPS,
    kind: KIND,
    namespace: 'n',
    name: 'a',
    subresource: '',
    object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'n' } },
    old: undefined,
    user: { name: 'bob', uid: '', groups: [], extra: {} },
    dryRun,
    options: null,
    compute: (work) => Promise.resolve(atOnce(work)),
    signal: new AbortController().signal,
    warn: () => undefined,
    annotate: () => undefined,
    conditions: [],
    charged: new Map(),
    reinvocation: new Reinvocation(),
  };
  const caller = {
    post: () => {
      calls += 1;
      const response = { uid: 'uid', allowed: true };
      return Promise.resolve({ kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', response });
    },
  };
  const asked = askWebhook(webhook, 'validating', request, CONFIG_MAPS, {
    caller: caller as unknown as Parameters<typeof askWebhook>[4]['caller'],
    newUid: () => 'uid',
    at: 'round_0_index_0',
  });
  const error = await asked.then(
    () => '',
    (reason: Error) => reason.message,
  );
  return { calls, error };
}

describe('a dry run', () => {
  it.each(['Some', 'Unknown'])('does not call a webhook whose side effects are %s', async (sideEffects) => {
    const { calls, error } = await ask(sideEffects, true);
    expect(calls).toBe(0);
    expect(error).toContain('does not support dry run');
    expect(await ask(sideEffects, false)).toEqual({ calls: 1, error: '' });
  });

  it.each(['None', 'NoneOnDryRun'])('calls a webhook whose side effects are %s', async (sideEffects) => {
    expect(await ask(sideEffects, true)).toEqual({ calls: 1, error: '' });
  });
});
