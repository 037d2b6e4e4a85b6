import { type V1PodTemplate, type V1PodTemplateList, ApiException } from '@kubernetes/client-node';
import { expect } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { container } from './workloads.ts';
import { type Proof, proofAlone, type World } from './world.ts';

const TOTAL = 400;
const AT_ONCE = 20;
const EXPIRED_MS = 120_000;
const CHUNKING = '[sig-api-machinery] Servers with support for API chunking should';

const nameOf = (index: number) => `template-${String(index).padStart(4, '0')}`;

/** As many templates as make several chunks, in a namespace of their own. */
async function fill(world: World): Promise<string> {
  const namespace = await world.namespace();
  let next = 0;
  const create = async (): Promise<void> => {
    while (next < TOTAL) {
      const body: V1PodTemplate = {
        metadata: { name: nameOf(next++) },
        template: { spec: { containers: [container()] } },
      };
      await world.core.createNamespacedPodTemplate({ namespace, body });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, create));
  return namespace;
}

/** Items of the chunk go on where the ones before ended, and it says rightly how many remain. Answers how far it came. */
function expectChunk(list: V1PodTemplateList, limit: number, before: number): number {
  expect(list.items.length).toBeLessThanOrEqual(limit);
  expect(list.items.map(({ metadata }) => metadata?.name)).toEqual(
    list.items.map((_, index) => nameOf(before + index)),
  );
  const found = before + list.items.length;
  const more = (list.metadata?._continue ?? '') !== '';
  expect(list.metadata?.remainingItemCount).toBe(more ? TOTAL - found : undefined);
  return found;
}

/** All chunks from a token on, each at the same version. */
async function expectRest(
  world: World,
  namespace: string,
  limit: number,
  first: V1PodTemplateList,
  before: number,
): Promise<void> {
  let found = expectChunk(first, limit, before);
  let list = first;
  while ((list.metadata?._continue ?? '') !== '') {
    const _continue = list.metadata?._continue ?? '';
    list = await world.core.listNamespacedPodTemplate({ namespace, limit, _continue });
    expect(list.metadata?.resourceVersion).toBe(first.metadata?.resourceVersion);
    found = expectChunk(list, limit, found);
  }
  expect(found).toBe(TOTAL);
}

export const CHUNKING_PROOFS: readonly Proof[] = [
  proofAlone(`${CHUNKING} return chunks of results for list calls [Conformance]`, async (world) => {
    const namespace = await fill(world);
    for (const limit of [17, 17, 100]) {
      const first = await world.core.listNamespacedPodTemplate({ namespace, limit });
      await expectRest(world, namespace, limit, first, 0);
    }
    const whole = await world.core.listNamespacedPodTemplate({ namespace, limit: TOTAL + 1 });
    expect(expectChunk(whole, TOTAL + 1, 0)).toBe(TOTAL);
  }),

  proofAlone(
    `${CHUNKING} support continue listing from the last key if the original version has been compacted away, though the list is inconsistent [Slow] [Conformance]`,
    async (world) => {
      const namespace = await fill(world);
      const limit = TOTAL / 10;
      const first = await world.core.listNamespacedPodTemplate({ namespace, limit });
      const found = expectChunk(first, limit, 0);
      // Something happens after the first chunk, and then history is forgotten.
      await world.core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'later' } } });
      await world.cluster.compact();
      const token = await eventually('the token expires', EXPIRED_MS, () =>
        expiredToken(world, namespace, limit, first.metadata?._continue ?? ''),
      );
      const second = await world.core.listNamespacedPodTemplate({ namespace, limit, _continue: token });
      expect(second.items).toHaveLength(limit);
      expect(second.metadata?.resourceVersion).not.toBe(first.metadata?.resourceVersion);
      await expectRest(world, namespace, limit, second, found);
    },
  ),
];

/** The token that goes on without consistency, from the refusal of an expired one; undefined while that is still good. */
async function expiredToken(
  world: World,
  namespace: string,
  limit: number,
  _continue: string,
): Promise<string | undefined> {
  try {
    await world.core.listNamespacedPodTemplate({ namespace, limit, _continue });
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiException)) throw error;
    const body: unknown = error.body;
    const status = typeof body === 'string' ? (JSON.parse(body) as unknown) : body;
    expect(status).toMatchObject({ code: 410, reason: 'Expired' });
    const token = (status as { metadata?: { continue?: string } }).metadata?.continue;
    expect(token).toBeTruthy();
    return token;
  }
}
