import type { Kind } from '../api/kinds.ts';

/** What can be done with an object: a tab of its page, or an action that opens there. */
export interface Verb {
  readonly title: string;
  readonly words: readonly string[];
  readonly search: { readonly tab?: string; readonly do?: string };
  /** For which kinds; absent: for all. */
  readonly kinds?: readonly string[];
}

const WITH_PODS = [
  'pods',
  'deployments.apps',
  'replicasets.apps',
  'statefulsets.apps',
  'daemonsets.apps',
  'jobs.batch',
];
const ROLLED = ['deployments.apps', 'statefulsets.apps', 'daemonsets.apps'];

export const VERBS: readonly Verb[] = [
  { title: 'Open', words: ['open', 'describe', 'get'], search: {} },
  { title: 'Logs of', words: ['logs', 'log'], search: { tab: 'logs' }, kinds: WITH_PODS },
  { title: 'Terminal in', words: ['terminal', 'exec', 'shell'], search: { tab: 'terminal' }, kinds: ['pods'] },
  { title: 'Why is', words: ['why', 'explain'], search: { tab: 'why' }, kinds: WITH_PODS },
  { title: 'Related to', words: ['related', 'graph'], search: { tab: 'related' } },
  { title: 'Edit', words: ['edit', 'yaml'], search: { tab: 'yaml' } },
  { title: 'Events of', words: ['events'], search: { tab: 'events' } },
  { title: 'Fields of', words: ['fields', 'managers'], search: { tab: 'fields' } },
  {
    title: 'Scale',
    words: ['scale'],
    search: { do: 'scale' },
    kinds: ['replicasets.apps', 'deployments.apps', 'statefulsets.apps'],
  },
  { title: 'Roll back', words: ['rollback', 'undo'], search: { do: 'roll-back' }, kinds: ROLLED },
  { title: 'Drain', words: ['drain'], search: { do: 'drain' }, kinds: ['nodes'] },
  { title: 'Delete', words: ['delete', 'remove'], search: { do: 'delete' } },
];

/** A query of the palette: what to do, of which kind, with which name. */
export interface Query {
  readonly verb: Verb | undefined;
  readonly kind: Kind | undefined;
  /** The other words. */
  readonly rest: string;
}

/** `logs pods web` is a verb, a kind and the words of a name. Kinds are known by plural, singular and short names. */
export function parseQuery(text: string, kinds: readonly Kind[]): Query {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const [first = ''] = words;
  // A single word may be the beginning of a name.
  const verb = words.length > 1 ? VERBS.find((known) => known.words.includes(first)) : undefined;
  if (verb !== undefined) words.shift();
  const [name = ''] = words;
  const kind = kinds.find(
    ({ id, resource, singular, shortNames }) => [id, resource, singular].includes(name) || shortNames.includes(name),
  );
  if (kind !== undefined) words.shift();
  return { verb, kind, rest: words.join(' ') };
}
