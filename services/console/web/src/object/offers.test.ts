import { describe, expect, it } from 'vitest';
import type { Kind } from '../api/kinds.ts';
import { CONFIG_MAPS, DEPLOYMENTS, kindOf, NODES, PODS } from '../testing/kinds.ts';
import { type Action, ACTIONS, askedFor, isPossible, type Offer, OFFERS, PARTS, searchOf } from './offers.ts';

/** It can be read, and nothing else. */
const READ_ONLY = kindOf('things.example.com', { verbs: ['get', 'list'] });

const actionsOf = (kind: Kind, at?: string) =>
  ACTIONS.filter((action) => isPossible(action, kind, at)).map(({ id }) => id);
const offerOf = (id: string): Offer => OFFERS.find((offer) => offer.id === id) ?? expect.fail(id);
const rightsOf = (id: string, kind: Kind, namespace: string) =>
  askedFor(offerOf(id), kind, namespace, 'web').map(({ namespace: space, attempt }) => {
    const { verb, group, resource, subresource, name = '*' } = attempt;
    const full = [resource, subresource].filter((part) => part !== undefined).join('/');
    return `${verb} ${full}${group === '' ? '' : `.${group}`} ${name} in ${space || 'the cluster'}`;
  });

describe('isPossible', () => {
  it('gives each kind the actions that kubectl has for it', () => {
    expect(actionsOf(PODS)).toEqual(['debug', 'copy', 'delete']);
    expect(actionsOf(DEPLOYMENTS)).toEqual(['restart', 'scale', 'roll-back', 'delete']);
    expect(actionsOf(kindOf('daemonsets.apps'))).toEqual(['restart', 'roll-back', 'delete']);
    expect(actionsOf(NODES)).toEqual(['cordon', 'uncordon', 'drain', 'delete']);
    expect(actionsOf(CONFIG_MAPS)).toEqual(['delete']);
  });

  it('needs the verbs and subresources of the server', () => {
    expect(actionsOf(kindOf('things.example.com', { subresources: ['scale'] }))).toEqual(['scale', 'delete']);
    expect(actionsOf(READ_ONLY)).toEqual([]);
  });

  it('has no action in the past, and no part that shows only now', () => {
    expect(actionsOf(DEPLOYMENTS, '12')).toEqual([]);
    const parts = PARTS.filter((part) => isPossible(part, PODS, '12')).map(({ id }) => id);
    expect(parts).toEqual(['overview', 'related', 'events', 'yaml', 'fields']);
  });
});

describe('askedFor', () => {
  it('asks for what each action does, also to other objects', () => {
    expect(rightsOf('restart', DEPLOYMENTS, 'a')).toEqual(['patch deployments.apps web in a']);
    expect(rightsOf('scale', DEPLOYMENTS, 'a')).toEqual(['patch deployments/scale.apps web in a']);
    expect(rightsOf('roll-back', DEPLOYMENTS, 'a')).toEqual([
      'patch deployments.apps web in a',
      'list replicasets.apps * in a',
    ]);
    expect(rightsOf('roll-back', kindOf('statefulsets.apps'), 'a')[1]).toBe('list controllerrevisions.apps * in a');
    expect(rightsOf('debug', PODS, 'a')).toEqual(['patch pods/ephemeralcontainers web in a']);
    expect(rightsOf('copy', PODS, 'a')).toEqual(['create pods/exec web in a']);
  });

  it('asks for rights in the whole cluster for objects of cluster scope, whose events are in `default`', () => {
    expect(rightsOf('cordon', NODES, '')).toEqual(['patch nodes web in the cluster']);
    expect(rightsOf('drain', NODES, '')).toEqual([
      'patch nodes web in the cluster',
      'list pods * in the cluster',
      'list poddisruptionbudgets.policy * in the cluster',
      'create pods/eviction * in the cluster',
    ]);
    expect(rightsOf('events', NODES, '')).toEqual(['list events * in default']);
    expect(rightsOf('events', PODS, 'a')).toEqual(['list events * in a']);
  });

  it("names a pod's own log, and any pod's for a workload", () => {
    expect(rightsOf('logs', PODS, 'a')).toEqual(['get pods/log web in a']);
    expect(rightsOf('logs', DEPLOYMENTS, 'a')).toEqual(['get pods/log * in a']);
  });
});

it('opens each offer at an address of its own', () => {
  expect(searchOf(offerOf('restart'))).toEqual({ do: 'restart' });
  expect(searchOf(offerOf('logs'))).toEqual({ tab: 'logs' });
  expect(searchOf(offerOf('overview'))).toEqual({});
  expect(new Set(OFFERS.map(({ id }) => id)).size).toBe(OFFERS.length);
});

it('understands each beginning of a query in one way', () => {
  const words = OFFERS.flatMap((offer) => offer.words);
  expect(words.toSorted()).toEqual([...new Set(words)].toSorted());
});

it('has one of cordon and uncordon, by the state of the node', () => {
  const buttons = (spec: object) =>
    ACTIONS.filter((action: Action) => action.isUseful?.({ metadata: {}, spec } as never) === true).map(({ id }) => id);
  expect(buttons({})).toEqual(['cordon']);
  expect(buttons({ unschedulable: true })).toEqual(['uncordon']);
});
