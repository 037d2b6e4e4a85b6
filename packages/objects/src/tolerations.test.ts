import { describe, expect, it } from 'vitest';
import type { Taint, Toleration } from './generated/types.ts';
import { findUntoleratedTaint, isTolerated, toleratesTaint } from './tolerations.ts';

const TAINT: Taint = { key: 'k', value: '5', effect: 'NoExecute' };

describe('toleratesTaint', () => {
  it.each<[string, Toleration, boolean]>([
    ['the same key and value', { key: 'k', value: '5' }, true],
    ['the same key and another value', { key: 'k', value: '6' }, false],
    ['another key', { key: 'other', operator: 'Exists' }, false],
    ['the operator Exists with the key', { key: 'k', operator: 'Exists' }, true],
    ['the operator Exists without a key', { operator: 'Exists' }, true],
    ['no key and no operator', { value: '5' }, false],
    ['an empty operator, which is Equal', { key: 'k', operator: '', value: '5' }, true],
    ['the effect of the taint', { key: 'k', operator: 'Exists', effect: 'NoExecute' }, true],
    ['another effect', { key: 'k', operator: 'Exists', effect: 'NoSchedule' }, false],
    ['a greater number with Lt', { key: 'k', operator: 'Lt', value: '6' }, true],
    ['the same number with Lt', { key: 'k', operator: 'Lt', value: '5' }, false],
    ['a smaller number with Gt', { key: 'k', operator: 'Gt', value: '4' }, true],
    ['text with Gt', { key: 'k', operator: 'Gt', value: 'four' }, false],
    ['an unknown operator', { key: 'k', operator: 'In', value: '5' }, false],
  ])('with %s', (_, toleration, expected) => {
    expect(toleratesTaint(toleration, TAINT)).toBe(expected);
    expect(isTolerated(TAINT, [{ key: 'unrelated' }, toleration])).toBe(expected);
  });

  it('is false without tolerations', () => {
    expect(isTolerated(TAINT, undefined)).toBe(false);
  });
});

describe('findUntoleratedTaint', () => {
  const soft: Taint = { key: 'soft', effect: 'PreferNoSchedule' };
  const hard: Taint = { key: 'hard', effect: 'NoSchedule' };

  it('looks at the taints with the effects alone', () => {
    expect(findUntoleratedTaint([soft, TAINT, hard], [], ['NoSchedule'])).toBe(hard);
    expect(findUntoleratedTaint([soft, TAINT, hard], [], ['NoSchedule', 'NoExecute'])).toBe(TAINT);
    expect(findUntoleratedTaint([soft], [], ['NoSchedule', 'NoExecute'])).toBeUndefined();
    expect(findUntoleratedTaint(undefined, [], ['NoExecute'])).toBeUndefined();
  });

  it('passes over tolerated taints', () => {
    expect(findUntoleratedTaint([TAINT, hard], [{ key: 'k', operator: 'Exists' }], ['NoExecute', 'NoSchedule'])).toBe(
      hard,
    );
  });
});
