import { expect, it } from 'vitest';
import { startHarness, jsonBody, WRITE } from '../testing.ts';
import { create } from './create.ts';

const TEMPLATE = { metadata: { labels: { app: 'a' } }, spec: { restartPolicy: 'Never', containers: [] } };

it('the first attempt has the decoded object itself, each later one an object of its own', async () => {
  const h = await startHarness();
  const request = { context: h.context(), target: h.target('jobs', ''), options: WRITE, subresource: undefined };
  const attempts = async (metadata: object) => {
    const body = jsonBody({ apiVersion: 'batch/v1', kind: 'Job', metadata, spec: { template: TEMPLATE } });
    const { sent } = await create.decode(request, body);
    const decoded = sent.object;
    const decodedAs = structuredClone(decoded);
    const attempt = {
      ...request,
      sent,
      stored: undefined,
      now: h.clock.now(),
      fence: undefined,
      rights: 'granted',
    } as const;
    const parts = { deps: h.deps } as Parameters<typeof create.draft>[0];
    const draft = async () => (await create.draft(parts, attempt))?.object;
    const first = await draft();
    expect(first).toBe(decoded);
    Object.assign(first?.metadata.labels ?? {}, { changed: 'yes' });
    const second = await draft();
    expect(second).not.toBe(first);
    expect(second?.metadata.namespace).toBe(request.target.namespace);
    expect(second).toMatchObject({ spec: decodedAs['spec' as keyof typeof decodedAs] });
    return second as unknown as { metadata: { labels: object }; spec: { template: typeof TEMPLATE } };
  };
  const named = await attempts({ name: 'a' });
  expect(named.metadata.labels).toEqual({ app: 'a' });
  expect(named.metadata.labels).toBe(named.spec.template.metadata.labels);
  const generated = await attempts({ generateName: 'a-' });
  expect(generated.metadata.labels).toEqual({ app: 'a' });
  expect(generated.metadata.labels).not.toBe(generated.spec.template.metadata.labels);
});
