import { describe, expect, it } from 'vitest';
import { NOT_AUDITED } from '../../audit/index.ts';
import type { RequestContext } from '../contract/registry.ts';
import { definitionOf } from '../testing.ts';
import { fenceOf } from './fences.ts';

const MANAGER = 'system:kube-controller-manager';
const KEY = '/gantry/elections/kube-controller-manager';
const FENCE = { electionKey: KEY, epoch: 20, incarnation: 'i', cacheRevision: 20 };

function ask(
  name: string,
  fence: RequestContext['fence'],
  verb: Parameters<typeof fenceOf>[3] = 'update',
  resource = 'pods',
) {
  const context: RequestContext = {
    user: { name, uid: '', groups: [], extra: {} },
    signal: new AbortController().signal,
    fence,
    warn: () => undefined,
    audit: NOT_AUDITED,
  };
  return fenceOf(context, definitionOf(resource), 'p', verb);
}

describe('the fence of a write', () => {
  it("is the leader's own", () => {
    expect(ask(MANAGER, FENCE)).toEqual({ electionKey: KEY, epoch: 20, incarnation: 'i' });
    expect(ask('kubernetes-admin', undefined)).toBeUndefined();
  });

  it('is required of services that write only as the leader', () => {
    expect(() => ask(MANAGER, undefined)).toThrow('may write only as the leader: the request carries no fence');
    expect(() => ask('system:kube-scheduler', undefined)).toThrow('the request carries no fence');
    // A standby may create a request for its own certificate, but may not change one.
    expect(ask(MANAGER, undefined, 'create', 'certificatesigningrequests')).toBeUndefined();
    expect(() => ask(MANAGER, undefined, 'update', 'certificatesigningrequests')).toThrow('carries no fence');
  });

  it('is refused of users who take part in no election', () => {
    for (const name of ['kubernetes-admin', 'system:node:a', 'constructor']) {
      expect(() => ask(name, FENCE)).toThrow('takes part in no election: the request may carry no fence');
    }
  });

  it('is refused when it is of another election', () => {
    for (const electionKey of ['/gantry/elections/kube-scheduler', '/registry/pods/n/p', '']) {
      expect(() => ask(MANAGER, { ...FENCE, electionKey })).toThrow(`its fence is ${KEY}`);
    }
  });

  it('is refused of a leader whose cache has not seen its own election', () => {
    expect(() => ask(MANAGER, { ...FENCE, cacheRevision: 19 })).toThrow('it may not act yet');
    expect(ask(MANAGER, { ...FENCE, cacheRevision: 21 })).toBeDefined();
  });
});
