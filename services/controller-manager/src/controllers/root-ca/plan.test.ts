import type { Namespace } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { planRootCa } from './plan.ts';

const namespace: Namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a' } };

describe('planning the root CA', () => {
  it('makes the ConfigMap, and is done with that', () => {
    const [action] = planRootCa(namespace, undefined, 'pem').actions;
    expect(action).toMatchObject({ kind: 'create', configMap: { data: { 'ca.crt': 'pem' } } });
    expect(planRootCa(namespace, action?.configMap, 'pem').actions).toEqual([]);
  });

  it('mends what was changed, and follows a new CA', () => {
    const [made] = planRootCa(namespace, undefined, 'pem').actions;
    if (made === undefined) return;
    const broken = { ...made.configMap, data: { 'ca.crt': 'broken', more: 'x' } };
    expect(planRootCa(namespace, broken, 'pem').actions).toEqual([{ kind: 'update', configMap: made.configMap }]);
    expect(planRootCa(namespace, made.configMap, 'new').actions[0]).toMatchObject({
      configMap: { data: { 'ca.crt': 'new' } },
    });
  });

  it('adds the description where it is missing, and keeps another', () => {
    const [made] = planRootCa(namespace, undefined, 'pem').actions;
    if (made === undefined) return;
    const described = (annotations: Record<string, string>) => ({
      ...made.configMap,
      metadata: { ...made.configMap.metadata, annotations },
    });
    expect(planRootCa(namespace, described({}), 'pem').actions).toEqual([
      { kind: 'update', configMap: made.configMap },
    ]);
    expect(planRootCa(namespace, described({ 'kubernetes.io/description': 'ours' }), 'pem').actions).toEqual([]);
  });

  it('leaves a namespace that is going away alone', () => {
    const going = { ...namespace, metadata: { name: 'a', deletionTimestamp: '2026-01-01T00:00:00Z' } };
    expect(planRootCa(going, undefined, 'pem').actions).toEqual([]);
  });
});
