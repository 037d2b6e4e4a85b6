import { labelSelectorFrom, type Pod, type Selector } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { Selectors } from './selectors.ts';

const pod = (labels: Record<string, string>): Pod => ({ apiVersion: 'v1', kind: 'Pod', metadata: { labels } });
const key = (name: string) => ({ namespace: 'n', name });

/** A selector that counts its comparisons. */
function counted(labels: Record<string, string>, count: () => void): Selector {
  const selector = labelSelectorFrom({ matchLabels: labels });
  const matches = selector.matches.bind(selector);
  selector.matches = (of) => {
    count();
    return matches(of);
  };
  return selector;
}

describe('the selectors of autoscalers', () => {
  it('are found by the pods that they match, as they are now', () => {
    const selectors = new Selectors();
    const web = labelSelectorFrom({ matchLabels: { app: 'web' } });
    const exists = labelSelectorFrom({ matchExpressions: [{ key: 'app', operator: 'Exists' }] });
    selectors.set(key('b'), web);
    selectors.set(key('a'), web);
    selectors.set(key('any'), exists);
    selectors.set({ namespace: 'other', name: 'a' }, web);
    expect(selectors.matching('n', [pod({ app: 'web' })])).toEqual(['n/a', 'n/any', 'n/b']);
    selectors.set(key('b'), labelSelectorFrom({ matchLabels: { app: 'db' } }));
    selectors.delete(key('any'));
    expect(selectors.matching('n', [pod({ app: 'web' })])).toEqual(['n/a']);
    expect(selectors.matching('n', [pod({ app: 'db' }), pod({ app: 'web' })])).toEqual(['n/a', 'n/b']);
    selectors.delete(key('a'));
    selectors.delete(key('b'));
    expect(selectors.matching('n', [pod({ app: 'web' })])).toEqual([]);
    expect(selectors.matching('other', [pod({ app: 'web' })])).toEqual(['other/a']);
  });

  it('are not compared with each pod of each autoscaler', () => {
    let comparisons = 0;
    const selectors = new Selectors();
    for (let i = 0; i < 1000; i++)
      selectors.set(
        key(`hpa-${i}`),
        counted({ app: `app-${i}` }, () => comparisons++),
      );
    const pods = Array.from({ length: 1000 }, () => pod({ app: 'app-7' }));
    expect(selectors.matching('n', pods)).toEqual(['n/hpa-7']);
    expect(comparisons).toBe(1);
  });
});
