import { NOT_AUDITED } from '../../audit/index.ts';
import { isLeadershipEnded } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import type { RequestContext } from '../contract/registry.ts';
import { definitionOf } from '../testing.ts';
import { fencedError, fenceOf } from './fences.ts';

const SCHEDULER = 'system:kube-scheduler';
const KEY = '/gantry/elections/kube-scheduler';
const FENCE = { electionKey: KEY, epoch: 100, incarnation: 'i', cacheRevision: 100 };

const context = (user: string, fence: RequestContext['fence']): RequestContext => ({
  user: { name: user, uid: '', groups: [], extra: {} },
  signal: new AbortController().signal,
  fence,
  warn: () => undefined,
  audit: NOT_AUDITED,
});
const fenced = (user: string, fence: RequestContext['fence'], resource = 'pods') =>
  fenceOf(context(user, fence), definitionOf(resource), 'p', 'create');

describe('the fence of a write', () => {
  it('is the one that its leader sent', () => {
    expect(fenced(SCHEDULER, FENCE)).toEqual({ electionKey: KEY, epoch: 100, incarnation: 'i' });
    expect(fenced(SCHEDULER, { ...FENCE, cacheRevision: 101 })).toEqual({
      electionKey: KEY,
      epoch: 100,
      incarnation: 'i',
    });
  });

  it('is needed from a service that is elected, but for its own certificate', () => {
    expect(() => fenced(SCHEDULER, undefined)).toThrow('may write only as the leader: the request carries no fence');
    expect(fenced(SCHEDULER, undefined, 'certificatesigningrequests')).toBeUndefined();
    expect(fenced('someone', undefined)).toBeUndefined();
  });

  it('is refused from a user that takes part in no election', () => {
    expect(() => fenced('someone', FENCE)).toThrow('takes part in no election: the request may carry no fence');
    expect(() => fenced('constructor', FENCE)).toThrow('takes part in no election');
  });

  it('is refused when it is of the election of another service', () => {
    const foreign = { ...FENCE, electionKey: '/gantry/elections/kube-controller-manager' };
    expect(() => fenced(SCHEDULER, foreign)).toThrow(
      `is not elected by /gantry/elections/kube-controller-manager: its fence is ${KEY}`,
    );
  });

  it('may be a term of a Lease, but not for a service that is elected in etcd', () => {
    const lease = { namespace: 'a', name: 'op', uid: 'u', holder: 'one', transitions: 3 };
    expect(fenced('someone', lease)).toEqual(lease);
    expect(() => fenced(SCHEDULER, lease)).toThrow('may write only as the leader: the request carries no fence');
    const error = fencedError(definitionOf('pods'), 'p', lease);
    expect(error.message).toContain('the leadership of "one" in term 3 of the Lease a/op has ended');
    expect([FENCE, lease].map((of) => isLeadershipEnded(fencedError(definitionOf('pods'), 'p', of)))).toEqual([
      true,
      true,
    ]);
  });

  it('that has ended is named by its epoch', () => {
    expect(fencedError(definitionOf('pods'), 'p', FENCE).message).toContain(
      'the leadership of epoch 100 has ended: the write was refused',
    );
  });

  it('is refused from a leader whose cache has not seen its own election', () => {
    expect(() => fenced(SCHEDULER, { ...FENCE, cacheRevision: 99 })).toThrow(
      "the leader's cache is at revision 99, before its own election at 100: it may not act yet",
    );
  });
});
