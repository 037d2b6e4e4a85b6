import { errorsOf } from '@gantry/apimachinery';
import { describe, expect, it } from 'vitest';
import { type Deployment, cloneJson } from '@gantry/objects';
import { deployments } from './deployment.ts';

const CONTEXT = { now: 0, user: { name: 'u', uid: '', groups: [], extra: {} }, warn: () => undefined };

function deployment(): Deployment {
  const object: Deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'd', namespace: 'n', generation: 3, labels: { a: 'b' }, annotations: { note: 'x' } },
    spec: {
      selector: { matchLabels: { app: 'a' } },
      template: { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    },
    status: { replicas: 1 },
  };
  deployments.strategy.applyDefaults?.(object);
  return object;
}

describe('an update of a deployment', () => {
  it('that changes annotations is a new generation', () => {
    const changed = cloneJson(deployment());
    changed.metadata.annotations = { note: 'y' };
    deployments.strategy.prepareForUpdate?.(changed, deployment(), CONTEXT);
    expect(changed.metadata.generation).toBe(4);
  });

  it('keeps the status, whatever the client says', () => {
    const changed = cloneJson(deployment());
    changed.status = { replicas: 9 };
    deployments.strategy.prepareForUpdate?.(changed, deployment(), CONTEXT);
    expect(changed.status).toEqual({ replicas: 1 });
    expect(changed.metadata.generation).toBe(3);
  });

  it('through the status keeps spec and labels, and takes annotations', () => {
    const status = deployments.subresources.find(({ name }) => name === 'status');
    const changed = cloneJson(deployment());
    changed.metadata = { ...changed.metadata, labels: { other: 'label' }, annotations: { revision: '1' } };
    if (changed.spec !== undefined) changed.spec.replicas = 9;
    status?.prepareForUpdate?.(changed, deployment(), CONTEXT);
    expect(changed.spec?.replicas).toBe(1);
    expect(changed.metadata.labels).toEqual({ a: 'b' });
    expect(changed.metadata.annotations).toEqual({ revision: '1' });
  });
});

describe('the rules on a deployment', () => {
  const check = (change: (object: Deployment) => void) => {
    const object = deployment();
    change(object);
    return errorsOf(deployments.strategy.validate?.(object)).map(({ field, detail }) => `${field}: ${detail}`);
  };
  const rolling = (maxUnavailable: number | string, maxSurge: number | string) =>
    check(({ spec }) => {
      if (spec !== undefined) spec.strategy = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable, maxSurge } };
    });

  it('want room to move in a rolling update', () => {
    expect(rolling(1, 0)).toEqual([]);
    expect(rolling('0%', 0)).toEqual(['spec.strategy.rollingUpdate.maxUnavailable: may not be 0 when `maxSurge` is 0']);
    expect(rolling('101%', 1)).toEqual(['spec.strategy.rollingUpdate.maxUnavailable: must not be greater than 100%']);
  });

  it('want a selector that finds the pods of the template', () => {
    expect(
      check(({ spec }) => {
        if (spec !== undefined) spec.selector = { matchLabels: { app: 'other' } };
      }),
    ).toEqual(['spec.template.metadata.labels: `selector` does not match template `labels`']);
  });
});
