import { describe, expect, it } from 'vitest';
import type { Kind } from '../api/kinds.ts';
import { parseQuery } from './query.ts';
import { rank } from './rank.ts';

const ranked = (query: string, texts: readonly string[], limit = 10) =>
  rank(
    query,
    texts.map((text) => ({ text })),
    limit,
  ).map(({ text }) => text);

describe('rank', () => {
  it('prefers the whole, then beginnings, then beginnings of parts, then parts, then letters in order', () => {
    const texts = ['w-e-b', 'cobweb', 'my-web', 'web-1', 'web', 'db'];
    expect(ranked('web', texts)).toEqual(['web', 'web-1', 'my-web', 'cobweb', 'w-e-b']);
  });

  it('needs each word, in any order', () => {
    expect(ranked('prod web', ['web staging', 'web prod', 'prod db'])).toEqual(['web prod']);
  });

  it('finds the beginning of a later part', () => {
    expect(ranked('web', ['cobweb-x', 'cobweb-web'])).toEqual(['cobweb-web', 'cobweb-x']);
  });

  it('prefers shorter texts, and returns no more than the limit', () => {
    expect(ranked('web', ['web-long-name', 'web-1'], 1)).toEqual(['web-1']);
  });

  it('returns all for an empty query', () => expect(ranked(' ', ['a', 'b'])).toEqual(['a', 'b']));
});

describe('parseQuery', () => {
  const kind = (id: string, shortNames: readonly string[] = []): Kind => ({
    id,
    group: '',
    version: 'v1',
    resource: id,
    kind: id,
    singular: id.slice(0, -1),
    shortNames,
    categories: [],
    isNamespaced: true,
    verbs: [],
    subresources: [],
  });
  const kinds = [kind('pods', ['po']), kind('deployments', ['deploy'])];
  const parsed = (text: string) => {
    const { offer, kind: found, rest } = parseQuery(text, kinds);
    return [offer?.phrase, found?.id, rest];
  };

  it('reads what to do, kind and name', () => {
    expect(parsed('logs po web 1')).toEqual(['Logs of', 'pods', 'web 1']);
    expect(parsed('deployment web')).toEqual([undefined, 'deployments', 'web']);
    expect(parsed('delete web')).toEqual(['Delete', undefined, 'web']);
  });

  it('knows what kubectl calls it, in two words, too', () => {
    expect(parsed('restart deploy web')).toEqual(['Restart', 'deployments', 'web']);
    expect(parsed('rollout restart deploy web')).toEqual(['Restart', 'deployments', 'web']);
    expect(parsed('rollout undo web')).toEqual(['Roll back', undefined, 'web']);
    expect(parsed('uncordon node-1')).toEqual(['Uncordon', undefined, 'node-1']);
  });

  it('takes words of an action alone for a name', () => {
    expect(parsed('roll back')).toEqual([undefined, undefined, 'roll back']);
    expect(parsed('rollout restart')).toEqual([undefined, undefined, 'rollout restart']);
  });

  it('takes a single word for a kind or a name', () => {
    expect(parsed('logs')).toEqual([undefined, undefined, 'logs']);
    expect(parsed('pods')).toEqual([undefined, 'pods', '']);
  });
});
