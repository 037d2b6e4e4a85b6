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
    const { verb, kind: found, rest } = parseQuery(text, kinds);
    return [verb?.title, found?.id, rest];
  };

  it('reads verb, kind and name', () => {
    expect(parsed('logs po web 1')).toEqual(['Logs of', 'pods', 'web 1']);
    expect(parsed('deployment web')).toEqual([undefined, 'deployments', 'web']);
    expect(parsed('delete web')).toEqual(['Delete', undefined, 'web']);
  });

  it('takes a single word for a kind or a name', () => {
    expect(parsed('logs')).toEqual([undefined, undefined, 'logs']);
    expect(parsed('pods')).toEqual([undefined, 'pods', '']);
  });
});
