import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { patchBody, createHarness, type Harness, WRITE } from '../registry/testing.ts';

const PREFIX = 'pod-security.kubernetes.io/';

describe('pod security', () => {
  let h: Harness;
  beforeEach(async () => {
    h = await createHarness();
    await h.create('serviceaccounts', { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } });
  });
  afterEach(async () => {
    await h.stop();
  });

  const demand = (labels: Record<string, string>) => {
    const patch = new TextEncoder().encode(JSON.stringify({ metadata: { labels } }));
    const target = h.target('namespaces', 'n');
    return h.settle(h.registry.patch(h.context(), target, patchBody('application/merge-patch+json', patch), WRITE));
  };
  const spec = { containers: [{ name: 'c', image: 'i' }], hostPID: true };
  const pod = (name: string) => h.create('pods', { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec });

  it('refuses pods below what is enforced, and warns of templates', async () => {
    await demand({ [`${PREFIX}enforce`]: 'baseline' });
    await expect(pod('p')).rejects.toMatchObject({
      reason: 'Forbidden',
      message: 'pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostPID=true)',
    });
    await h.create('podtemplates', {
      apiVersion: 'v1',
      kind: 'PodTemplate',
      metadata: { name: 't' },
      template: { spec },
    });
    expect(h.warnings).toContain('would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)');
  });

  it('warns of what is there when more is demanded, and refuses labels that mean nothing', async () => {
    await pod('b');
    await pod('a');
    await demand({ [`${PREFIX}enforce`]: 'baseline' });
    expect(h.warnings).toEqual([
      'existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest"',
      'a (and 1 other pod): host namespaces',
    ]);
    await expect(demand({ [`${PREFIX}enforce`]: 'some' })).rejects.toMatchObject({
      reason: 'Invalid',
      message: `Namespace "n" is invalid: metadata.labels[${PREFIX}enforce]: Invalid value: "some": must be one of privileged, baseline, restricted`,
    });
  });
});
