import { describe, expect, it } from 'vitest';
import { jsonBody } from '../contract/registry.ts';
import { startHarness, WRITE } from '../testing.ts';
import { decodeSent } from './decode-body.ts';

describe('a body', () => {
  it.each([
    ['that is large is decoded in steps, each in its turn', 300_000, 2],
    ['that is small waits for no turn', 1_000, 0],
  ])('%s', async (_name, size, turns) => {
    const h = await startHarness();
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { a: 'x'.repeat(size) } };
    let waited = 0;
    const body = { ...jsonBody(object), nextTurn: () => Promise.resolve(void waited++) };
    const request = {
      context: h.context(),
      target: h.target('configmaps', ''),
      options: WRITE,
      subresource: undefined,
    };
    const sent = await decodeSent(request, body);
    expect(sent.object).toMatchObject({ kind: 'ConfigMap', data: { a: 'x'.repeat(size) } });
    expect(waited).toBe(turns);
  });
});
