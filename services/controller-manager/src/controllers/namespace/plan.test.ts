import { readFileSync } from 'node:fs';
import { formatTime } from '@gantry/base';
import type { KubeObject, Namespace, NamespaceCondition } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { type Action, type Content, planNamespaceDeletion } from './plan.ts';

/** What a round plans. */
interface Round {
  /** For a deletion, the resource and the name. For the end, the finalizers that remain. */
  readonly actions: readonly string[];
  /** The conditions of the written status, by type, without those that are the same as for an empty namespace. */
  readonly says?: Readonly<Record<string, string>>;
  /** The types of all conditions in their order, when that is not the usual one. */
  readonly order?: readonly string[];
  /** The times of the conditions that did not change in this round, by type. */
  readonly since?: Readonly<Record<string, string>>;
  readonly againInMs?: number;
}

interface Case {
  readonly name: string;
  /** True when the namespace is not being deleted. */
  readonly living?: boolean;
  /** The finalizers of its spec. `kubernetes` when absent. */
  readonly finalizers?: readonly string[];
  readonly metadataFinalizers?: readonly string[];
  readonly conditions?: readonly NamespaceCondition[];
  /** The metadata of its objects, by resource and group. */
  readonly content: Readonly<Record<string, readonly KubeObject['metadata'][]>>;
  readonly unread?: readonly string[];
  readonly undiscovered?: readonly string[];
  /** The failures of the round before the first one. */
  readonly failures?: readonly string[];
  /** Each round follows the actions of the previous one. The last round has no actions. */
  readonly rounds: readonly Round[];
}

const CASES = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8')) as readonly Case[];
const NOW = Date.parse('2026-01-01T12:00:00Z');
const DELETED = '2026-01-01T11:59:00Z';
const ROUND_MS = 60_000;
/** The conditions of a namespace that holds nothing. */
const EMPTY = {
  NamespaceDeletionDiscoveryFailure: 'False ResourcesDiscovered: All resources successfully discovered',
  NamespaceDeletionGroupVersionParsingFailure: 'False ParsedGroupVersions: All legacy kube types successfully parsed',
  NamespaceDeletionContentFailure:
    'False ContentDeleted: All content successfully deleted, may be waiting on finalization',
  NamespaceContentRemaining: 'False ContentRemoved: All content successfully removed',
  NamespaceFinalizersRemaining: 'False ContentHasNoFinalizers: All content-preserving finalizers finished',
};

function namespaceOf({ living = false, finalizers = ['kubernetes'], metadataFinalizers, conditions }: Case): Namespace {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name: 'a',
      ...(living ? {} : { deletionTimestamp: DELETED }),
      ...(metadataFinalizers === undefined ? {} : { finalizers: [...metadataFinalizers] }),
    },
    spec: { finalizers: [...finalizers] },
    status: { phase: 'Terminating', ...(conditions === undefined ? {} : { conditions: [...conditions] }) },
  };
}

function contentOf({ content }: Case): readonly Content[] {
  return Object.entries(content).map(([of, objects]) => {
    const [resource = '', ...group] = of.split('.');
    return {
      group: group.join('.'),
      resource,
      objects: objects.map((metadata) => ({ apiVersion: 'v1', kind: of, metadata })),
    };
  });
}

const idOf = ({ group, resource }: Pick<Content, 'group' | 'resource'>) =>
  group === '' ? resource : `${resource}.${group}`;

function printed(action: Action): string {
  switch (action.kind) {
    case 'deleteContent':
      return `delete ${idOf(action)}/${action.object.metadata.name}`;
    case 'updateStatus':
      return 'status';
    case 'finalize':
      return ['finalize', ...action.finalizers].join(' ');
  }
}

/** What the store has after a deletion. An object with finalizers, or a pod that has to be stopped, remains for now. */
function deleted(object: KubeObject): readonly KubeObject[] {
  const isPod = object.kind === 'pods';
  if (!isPod && (object.metadata.finalizers ?? []).length === 0) return [];
  const grace = isPod ? { deletionGracePeriodSeconds: 30 } : {};
  return [{ ...object, metadata: { ...object.metadata, deletionTimestamp: DELETED, ...grace } }];
}

interface World {
  readonly namespace: Namespace;
  readonly content: readonly Content[];
}

function after({ namespace, content }: World, action: Action): World {
  switch (action.kind) {
    case 'deleteContent': {
      expect(content.flatMap(({ objects }) => objects)).toContain(action.object);
      const next = (object: KubeObject) => (object === action.object ? deleted(object) : [object]);
      return { namespace, content: content.map((one) => ({ ...one, objects: one.objects.flatMap(next) })) };
    }
    case 'updateStatus':
      return { namespace: { ...namespace, status: action.status }, content };
    case 'finalize':
      return { namespace: { ...namespace, spec: { finalizers: [...action.finalizers] } }, content };
  }
}

function expectStatus({ status }: Extract<Action, { kind: 'updateStatus' }>, round: Round, now: number): void {
  const { says = {}, order = Object.keys(EMPTY), since = {} } = round;
  const wanted: Readonly<Record<string, string>> = { ...EMPTY, ...says };
  expect(status.phase).toBe('Terminating');
  expect(
    status.conditions?.map(({ type, status: is, reason, message }) => [
      type,
      reason === undefined ? is : `${is} ${reason}: ${message}`,
    ]),
  ).toEqual(order.map((type) => [type, wanted[type]]));
  for (const { type, lastTransitionTime } of status.conditions ?? []) {
    if (type in EMPTY) expect([type, lastTransitionTime]).toEqual([type, since[type] ?? formatTime(now)]);
  }
}

describe('planning a namespace’s deletion', () => {
  it.each(CASES)('$name', (one) => {
    const { unread = [], undiscovered = [] } = one;
    let world: World = { namespace: namespaceOf(one), content: contentOf(one) };
    for (const [index, round] of one.rounds.entries()) {
      const now = NOW + index * ROUND_MS;
      const failures = index === 0 ? (one.failures ?? []) : [];
      const { actions, requeueAt } = planNamespaceDeletion({ ...world, unread, undiscovered, failures }, now);
      expect(actions.map(printed)).toEqual(round.actions);
      expect(requeueAt).toBe(round.againInMs === undefined ? undefined : now + round.againInMs);
      expect(actions.some(({ kind }) => kind === 'updateStatus')).toBe(round.says !== undefined);
      for (const action of actions) if (action.kind === 'updateStatus') expectStatus(action, round, now);
      world = actions.reduce(after, world);
    }
    expect(one.rounds.at(-1)?.actions).toEqual([]);
  });
});
