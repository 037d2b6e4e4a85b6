import { errorMessage } from '@gantry/base';
import { formatKey, type ObjectKey, parseLabelSelector, type Pod, type Selector } from '@gantry/objects';
import type { Selected } from './plan.ts';

/** A selector and the autoscalers whose targets use it. */
interface Entry {
  readonly selector: Selector;
  readonly names: Set<string>;
}

/** The selectors of a namespace, indexed by text, and by one label that all their pods have. */
interface Scope {
  readonly texts: Map<string, Entry>;
  readonly byLabel: Map<string, Map<string, Entry>>;
  /** The text of each autoscaler. */
  readonly textOf: Map<string, string>;
}

/** The selectors of all autoscalers' targets, by namespace, as of each autoscaler's last reconcile. */
export class Selectors {
  readonly #scopes = new Map<string, Scope>();

  set({ namespace, name }: ObjectKey, selector: Selector): void {
    const scope = this.#scopes.get(namespace) ?? { texts: new Map(), byLabel: new Map(), textOf: new Map() };
    this.#scopes.set(namespace, scope);
    const text = selector.toString();
    if (scope.textOf.get(name) === text) return;
    remove(scope, name);
    const entry = scope.texts.get(text) ?? { selector, names: new Set() };
    entry.names.add(name);
    scope.texts.set(text, entry);
    scope.textOf.set(name, text);
    const label = labelOf(selector);
    const bucket = scope.byLabel.get(label) ?? new Map<string, Entry>();
    scope.byLabel.set(label, bucket.set(text, entry));
  }

  delete({ namespace, name }: ObjectKey): void {
    const scope = this.#scopes.get(namespace);
    if (scope === undefined) return;
    remove(scope, name);
    if (scope.textOf.size === 0) this.#scopes.delete(namespace);
  }

  clear(): void {
    this.#scopes.clear();
  }

  /**
   * The keys of autoscalers whose selectors match one of the pods, in order. A selector is compared only with pods that have its label, and
   * not again once it has matched.
   */
  matching(namespace: string, pods: readonly Pod[]): readonly string[] {
    const scope = this.#scopes.get(namespace);
    if (scope === undefined) return [];
    const found = new Set<Entry>();
    for (const labels of distinctLabels(pods)) {
      for (const label of [NO_LABEL, ...Object.entries(labels).map(([key, value]) => idOf(key, value))]) {
        for (const entry of scope.byLabel.get(label)?.values() ?? []) {
          if (!found.has(entry) && entry.selector.matches(labels)) found.add(entry);
        }
      }
    }
    return [...found].flatMap(({ names }) => [...names].map((name) => formatKey({ namespace, name }))).sort();
  }
}

/** For selectors that require no label value. */
const NO_LABEL = '';

function remove(scope: Scope, name: string): void {
  const text = scope.textOf.get(name);
  const entry = text === undefined ? undefined : scope.texts.get(text);
  if (text === undefined || entry === undefined) return;
  scope.textOf.delete(name);
  entry.names.delete(name);
  if (entry.names.size > 0) return;
  scope.texts.delete(text);
  const label = labelOf(entry.selector);
  const bucket = scope.byLabel.get(label);
  bucket?.delete(text);
  if (bucket?.size === 0) scope.byLabel.delete(label);
}

function labelOf(selector: Selector): string {
  const [first] = Object.entries(labelsOf(selector));
  return first === undefined ? NO_LABEL : idOf(...first);
}

/** Keys of labels have no equals sign. */
function idOf(key: string, value: string): string {
  return `${key}=${value}`;
}

/** The distinct label sets of pods: pods of one template have equal labels. */
function distinctLabels(pods: readonly Pod[]): Iterable<Readonly<Record<string, string>>> {
  const sets = new Map<string, Readonly<Record<string, string>>>();
  for (const { metadata } of pods) sets.set(JSON.stringify(metadata.labels ?? {}), metadata.labels ?? {});
  return sets.values();
}

/** The pods of a namespace that may have all these labels. */
export type PodsOf = (namespace: string, labels: Readonly<Record<string, string>>) => readonly Pod[];

/** The pods under a target's selector, unless the selector is invalid or another autoscaler selects some of them too. */
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

/** The labels that a selector requires with a specific value. */
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
