import type { ControllerRevision, Pod } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { newRevision } from '../../libraries/revisions/revision.ts';
import { expiredRevisions, orderHistory } from './history.ts';
import { HASH_LABEL } from './placement.ts';
import { exampleSet, TEMPLATE } from './testing/world.ts';

const SET = exampleSet();
const image = (name: string) => ({ ...TEMPLATE, spec: { containers: [{ name: 'c', image: name }] } });

function revision(of: string, number: number, name?: string): ControllerRevision {
  const input = { owner: SET, template: image(of), number, collisionCount: undefined };
  const made = newRevision({ ...input, hashLabel: HASH_LABEL });
  return name === undefined ? made : { ...made, metadata: { ...made.metadata, name, labels: { [HASH_LABEL]: name } } };
}

const pod = (name: string, hash: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { [HASH_LABEL]: hash } },
});

describe('the history of a set', () => {
  it('gets the present template as its newest revision', () => {
    const first = orderHistory(SET, [], []);
    expect(first.actions).toEqual([{ kind: 'createRevision', revision: revision('app:1', 1) }]);
    const later = orderHistory(SET, [revision('app:0', 4)], []);
    expect(later.actions).toEqual([{ kind: 'createRevision', revision: revision('app:1', 5) }]);
    expect(later.hash).toBe(first.hash);
  });

  it('takes another hash after a collision', () => {
    const collided = { ...SET, status: { ...EMPTY_STATUS, collisionCount: 1 } };
    expect(orderHistory(collided, [], []).hash).not.toBe(orderHistory(SET, [], []).hash);
  });

  it('renumbers the template that comes back', () => {
    const old = revision('app:1', 1);
    const { actions, hash } = orderHistory(SET, [old, revision('app:2', 2)], []);
    expect(actions).toEqual([{ kind: 'renumberRevision', revision: old, number: 3 }]);
    expect(hash).toBe(old.metadata.labels?.[HASH_LABEL]);
  });

  it('joins revisions of the same template, after their pods', () => {
    const kept = revision('app:1', 3, 'kept');
    const duplicate = revision('app:1', 1, 'duplicate');
    const pods = [pod('p', 'duplicate'), pod('q', 'kept'), pod('r', 'another')];
    const { actions, hash, pods: after } = orderHistory(SET, [duplicate, kept], pods);
    expect(actions).toEqual([
      { kind: 'relabelPod', pod: pods[0], hash: 'kept' },
      { kind: 'deleteRevision', revision: duplicate },
    ]);
    expect(hash).toBe('kept');
    expect(after.map(({ metadata }) => metadata.labels?.[HASH_LABEL])).toEqual(['kept', 'kept', 'another']);
  });

  it('gives a revision without a hash its name for one', () => {
    const made = revision('app:1', 1, 'old-name');
    const bare = { ...made, metadata: { ...made.metadata, labels: { app: 'a' } } };
    const { actions, hash } = orderHistory(SET, [bare], []);
    expect(actions).toEqual([{ kind: 'labelRevision', revision: bare, hash: 'old-name' }]);
    expect(hash).toBe('old-name');
  });

  it('is cut to its limit, but for revisions that pods are of', () => {
    const others = ['a', 'b', 'c', 'd'].map((name, i) => revision(`app:${name}`, i + 1, name));
    const names = (limit: number, pods: Pod[]) =>
      expiredRevisions(exampleSet({ revisionHistoryLimit: limit }), others, pods).map(({ metadata }) => metadata.name);
    expect(names(2, [])).toEqual(['a', 'b']);
    expect(names(2, [pod('p', 'a')])).toEqual(['b', 'c']);
    expect(names(0, [pod('p', 'd')])).toEqual(['a', 'b', 'c']);
    expect(names(4, [])).toEqual([]);
  });
});

const EMPTY_STATUS = { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 };
