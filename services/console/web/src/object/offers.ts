import type { Asked } from '../api/access.ts';
import type { Kind } from '../api/kinds.ts';
import type { AnyObject } from './use-object.ts';

/** A right: on the object itself, unless `of` names another resource. */
interface Need {
  readonly verb: string;
  readonly subresource?: string;
  readonly of?: { readonly group: string; readonly resource: string };
  /** The namespace in which an object of cluster scope needs it. Absent: in all namespaces. */
  readonly namespaceOfCluster?: string;
}

/** What an object's page has for some kinds. The page and the palette read the same lists. */
export interface Offer {
  readonly id: string;
  /** On the page. */
  readonly title: string;
  /** In the palette, before the object's name. */
  readonly phrase: string;
  /** Beginnings of a query of the palette, in lower case: each has one word or more. */
  readonly words: readonly string[];
  /** For which kinds; absent: for all that have the verbs and subresources which it needs. */
  readonly kinds?: readonly string[];
  readonly isNamespaced?: boolean;
  /** It shows or changes what is, not what was. */
  readonly isOfNow?: boolean;
  readonly needs?: (kind: Kind) => readonly Need[];
}

/** An action: the address of the page names the one whose dialog is open. */
export interface Action extends Offer {
  /** Whether the page has a button for it. The dialog opens in any case, and says if there is nothing to do. */
  readonly isUseful?: (object: AnyObject) => boolean;
}

const PODS = { group: '', resource: 'pods' };
const BUDGETS = { group: 'policy', resource: 'poddisruptionbudgets' };
const REPLICA_SETS = { group: 'apps', resource: 'replicasets' };
const REVISIONS = { group: 'apps', resource: 'controllerrevisions' };
/** Pods, and what makes them. */
const RUNNING = ['pods', 'deployments.apps', 'replicasets.apps', 'statefulsets.apps', 'daemonsets.apps', 'jobs.batch'];
const ROLLED = ['deployments.apps', 'statefulsets.apps', 'daemonsets.apps'];
const isCordoned = ({ spec }: AnyObject) => spec?.['unschedulable'] === true;
const mayPatch = () => [{ verb: 'patch' }];

/** The parts of an object's page, in their order. */
export const PARTS = [
  { id: 'overview', title: 'Overview', phrase: 'Open', words: ['open', 'describe', 'get'] },
  { id: 'why', title: 'Why', phrase: 'Why is', words: ['why', 'explain'], kinds: RUNNING, isOfNow: true },
  {
    id: 'logs',
    title: 'Logs',
    phrase: 'Logs of',
    words: ['logs', 'log'],
    kinds: RUNNING,
    needs: () => [{ verb: 'get', subresource: 'log', of: PODS }],
    isOfNow: true,
  },
  {
    id: 'terminal',
    title: 'Terminal',
    phrase: 'Terminal in',
    words: ['terminal', 'exec', 'shell', 'attach'],
    kinds: ['pods'],
    needs: () => [{ verb: 'create', subresource: 'exec', of: PODS }],
    isOfNow: true,
  },
  { id: 'related', title: 'Related', phrase: 'Related to', words: ['related', 'graph'], isNamespaced: true },
  {
    id: 'events',
    title: 'Events',
    phrase: 'Events of',
    words: ['events'],
    needs: () => [{ verb: 'list', of: { group: '', resource: 'events' }, namespaceOfCluster: 'default' }],
  },
  { id: 'yaml', title: 'YAML', phrase: 'YAML of', words: ['edit', 'yaml'] },
  { id: 'fields', title: 'Fields', phrase: 'Who changed', words: ['fields', 'managers', 'who', 'who changed'] },
] as const satisfies readonly Offer[];

/** Links to the ports of a pod or a Service, in its overview. */
export const PORTS: Offer = {
  id: 'ports',
  title: 'Ports',
  phrase: 'Ports of',
  words: ['ports', 'port-forward'],
  kinds: ['pods', 'services'],
  needs: () => [{ verb: 'get', subresource: 'proxy' }],
  isOfNow: true,
};

/** What can be done with an object, in the order of the buttons. */
export const ACTIONS = [
  {
    id: 'restart',
    title: 'Restart',
    phrase: 'Restart',
    words: ['restart', 'rollout restart'],
    kinds: ROLLED,
    needs: mayPatch,
    isOfNow: true,
  },
  {
    id: 'cordon',
    title: 'Cordon',
    phrase: 'Cordon',
    words: ['cordon'],
    kinds: ['nodes'],
    needs: mayPatch,
    isOfNow: true,
    isUseful: (node: AnyObject) => !isCordoned(node),
  },
  {
    id: 'uncordon',
    title: 'Uncordon',
    phrase: 'Uncordon',
    words: ['uncordon'],
    kinds: ['nodes'],
    needs: mayPatch,
    isOfNow: true,
    isUseful: isCordoned,
  },
  {
    id: 'scale',
    title: 'Scale',
    phrase: 'Scale',
    words: ['scale'],
    needs: () => [{ verb: 'patch', subresource: 'scale' }],
    isOfNow: true,
  },
  {
    id: 'roll-back',
    title: 'Roll back',
    phrase: 'Roll back',
    words: ['rollback', 'roll back', 'roll-back', 'undo', 'rollout undo'],
    kinds: ROLLED,
    needs: ({ id }: Kind) => [
      { verb: 'patch' },
      { verb: 'list', of: id === 'deployments.apps' ? REPLICA_SETS : REVISIONS },
    ],
    isOfNow: true,
  },
  {
    id: 'drain',
    title: 'Drain',
    phrase: 'Drain',
    words: ['drain'],
    kinds: ['nodes'],
    needs: () => [
      { verb: 'patch' },
      { verb: 'list', of: PODS },
      { verb: 'list', of: BUDGETS },
      { verb: 'create', subresource: 'eviction', of: PODS },
    ],
    isOfNow: true,
  },
  {
    id: 'debug',
    title: 'Add a debug container',
    phrase: 'Add a debug container to',
    words: ['debug'],
    kinds: ['pods'],
    needs: () => [{ verb: 'patch', subresource: 'ephemeralcontainers' }],
    isOfNow: true,
  },
  {
    id: 'copy',
    title: 'Copy files',
    phrase: 'Copy files of',
    words: ['copy', 'cp'],
    kinds: ['pods'],
    needs: () => [{ verb: 'create', subresource: 'exec' }],
    isOfNow: true,
  },
  {
    id: 'delete',
    title: 'Delete',
    phrase: 'Delete',
    words: ['delete', 'remove'],
    needs: () => [{ verb: 'delete' }],
    isOfNow: true,
  },
] as const satisfies readonly Action[];

/** All that the palette offers for an object. */
export const OFFERS: readonly Offer[] = [...PARTS, PORTS, ...ACTIONS];

/** The search parameters of the object's page at which an offer is open. */
export function searchOf({ id }: Offer): { readonly tab?: string; readonly do?: string } {
  if (ACTIONS.some((action) => action.id === id)) return { do: id };
  return id === 'overview' || id === PORTS.id ? {} : { tab: id };
}

/** Whether objects of a kind have it, for those who have the rights; `at` is the revision of the past that pages show. */
export function isPossible(offer: Offer, kind: Kind, at: string | undefined): boolean {
  const { kinds, isNamespaced, isOfNow, needs } = offer;
  return (
    (kinds === undefined || kinds.includes(kind.id)) &&
    (isNamespaced !== true || kind.isNamespaced) &&
    (isOfNow !== true || at === undefined) &&
    (needs?.(kind) ?? []).every(
      ({ verb, subresource, of }) =>
        of !== undefined ||
        (subresource === undefined ? kind.verbs.includes(verb) : kind.subresources.includes(subresource)),
    )
  );
}

/** The rights that it needs at one object; `namespace` is '' for objects of cluster scope. */
export function askedFor(offer: Offer, kind: Kind, namespace: string, name: string): readonly Asked[] {
  return (offer.needs?.(kind) ?? []).map(({ verb, subresource, of = kind, namespaceOfCluster = '' }) => ({
    namespace: kind.isNamespaced ? namespace : namespaceOfCluster,
    attempt: {
      verb,
      group: of.group,
      resource: of.resource,
      ...(subresource === undefined ? {} : { subresource }),
      // A rule may name objects: of other resources, any of them is meant.
      ...(of.group === kind.group && of.resource === kind.resource ? { name } : {}),
    },
  }));
}
