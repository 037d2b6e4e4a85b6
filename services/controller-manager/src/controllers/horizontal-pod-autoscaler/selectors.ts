import { errorMessage } from '@gantry/base';
import { formatKey, type ObjectKey, parseLabelSelector, type Pod, type Selector } from '@gantry/objects';
import type { Selected } from './plan.ts';

/** The selectors of the targets of all autoscalers, by namespace, as they were when each was last looked at. */
export class Selectors {
  readonly #known = new Map<string, Map<string, Selector>>();

  set({ namespace, name }: ObjectKey, selector: Selector): void {
    const inNamespace = this.#known.get(namespace) ?? new Map<string, Selector>();
    this.#known.set(namespace, inNamespace);
    inNamespace.set(name, selector);
  }

  delete({ namespace, name }: ObjectKey): void {
    const inNamespace = this.#known.get(namespace);
    inNamespace?.delete(name);
    if (inNamespace?.size === 0) this.#known.delete(namespace);
  }

  clear(): void {
    this.#known.clear();
  }

  /** The keys of the autoscalers whose selectors match one of the pods, in order. */
  matching(namespace: string, pods: readonly Pod[]): readonly string[] {
    return [...(this.#known.get(namespace) ?? [])]
      .filter(([, selector]) => pods.some(({ metadata }) => selector.matches(metadata.labels)))
      .map(([name]) => formatKey({ namespace, name }))
      .sort();
  }
}

/** The pods of a namespace that may have all these labels. */
export type PodsOf = (namespace: string, labels: Readonly<Record<string, string>>) => readonly Pod[];

/** The pods under a target's selector, unless it is unusable or another autoscaler has some of them too. */
export function selectPods(
  key: ObjectKey,
  text: string,
  { selectors, podsOf }: { readonly selectors: Selectors; readonly podsOf: PodsOf },
): Selected {
  if (text === '') {
    return { kind: 'refused', reason: 'InvalidSelector', event: 'SelectorRequired', message: 'selector is required' };
  }
  const selector = parsed(text);
  if (typeof selector === 'string') {
    const message = `couldn't convert selector into a corresponding internal selector object: ${selector}`;
    return { kind: 'refused', reason: 'InvalidSelector', event: 'InvalidSelector', message };
  }
  selectors.set(key, selector);
  const pods = podsOf(key.namespace, labelsOf(selector)).filter(({ metadata }) => selector.matches(metadata.labels));
  const rivals = selectors.matching(key.namespace, pods);
  if (rivals.length <= 1) return { kind: 'pods', pods };
  const message = `pods by selector ${text} are controlled by multiple HPAs: [${rivals.join(' ')}]`;
  return { kind: 'refused', reason: 'AmbiguousSelector', event: 'AmbiguousSelector', message };
}

/** The labels that a selector asks for by their value. */
function labelsOf({ requirements }: Selector): Record<string, string> {
  const exact = requirements.filter(({ operator, values }) => operator === 'in' && values.length === 1);
  return Object.fromEntries(exact.map(({ key, values }) => [key, values[0] ?? '']));
}

function parsed(text: string): Selector | string {
  try {
    return parseLabelSelector(text);
  } catch (error) {
    return errorMessage(error);
  }
}
