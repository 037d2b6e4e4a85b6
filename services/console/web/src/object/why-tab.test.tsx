// @vitest-environment happy-dom
import { ManualClock } from '@gantry/base/testing';
import { StatusError } from '@gantry/objects';
import { screen, waitFor } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { ResourceRule } from '../api/access.ts';
import { PODS } from '../testing/kinds.ts';
import { renderInConsole } from '../testing/render.tsx';
import type { AnyObject } from './use-object.ts';
import { WhyTab } from './why-tab.tsx';

const PENDING: AnyObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'shop', uid: 'u', resourceVersion: '1' },
  spec: { containers: [{ name: 'main', image: 'web:1', envFrom: [{ configMapRef: { name: 'settings' } }] }] },
};
const MISSING = 'It needs the ConfigMap settings, which does not exist.';
const REFUSAL = 'a: the pod does not tolerate its taint full:NoSchedule';
const PLACED: AnyObject = { ...PENDING, spec: { ...PENDING.spec, nodeName: 'a' } };
const node = (name: string, resourceVersion: string, isFull: boolean) => ({
  metadata: { name, uid: name, resourceVersion },
  spec: { taints: isFull ? [{ key: 'full', effect: 'NoSchedule' }] : [] },
  status: { allocatable: { cpu: '4', memory: '8Gi', pods: '110' } },
});

interface Options {
  readonly rules?: readonly ResourceRule[];
  /** The resource whose lists fail. */
  readonly failing?: string;
}

async function open(object: AnyObject, { rules, failing }: Options = {}) {
  const lists: string[] = [];
  const page = await renderInConsole(<WhyTab kind={PODS} namespace="shop" name="web" object={object} />, {
    ...(rules === undefined ? {} : { rules }),
    server: ({ path }) => {
      if (path.startsWith('/gantry/')) return { decisions: [] };
      if (path.includes('watch=1')) return new Promise(() => {});
      const resource = path.split('?')[0]?.replace(/^\/apis?(\/apps)?\/v1\//, '') ?? '';
      lists.push(resource);
      if (resource === failing) throw new StatusError('InternalError', 'out of order');
      return { metadata: { resourceVersion: '1' }, items: resource === 'nodes' ? [node('a', '1', true)] : [] };
    },
  });
  return { ...page, lists };
}

it('follows what is around a pod by watches: nothing is listed again', async () => {
  const { lists, clock, send } = await open(PENDING);
  await screen.findByText(MISSING);
  await screen.findByText(REFUSAL);
  expect(lists.toSorted()).toEqual([
    'namespaces/shop/configmaps',
    'namespaces/shop/events',
    'namespaces/shop/persistentvolumeclaims',
    'namespaces/shop/secrets',
    'nodes',
    'persistentvolumes',
    'pods',
  ]);
  await clock.advance(60_000);
  expect(lists).toHaveLength(7);
  await send('/nodes?', { type: 'MODIFIED', object: node('a', '2', false) });
  await clock.advance(3_000);
  await screen.findByText('Nothing that is seen here forbids a.');
});

it('does not ask for the nodes and the pods of the cluster when its pod has a node', async () => {
  const { lists } = await open(PLACED);
  await screen.findByText(MISSING);
  expect(lists.filter((resource) => !resource.startsWith('namespaces/shop/'))).toEqual([]);
});

it('says what it does without, and asks for none of it', async () => {
  const { lists } = await open(PENDING, { rules: [{ verbs: ['list'], apiGroups: [''], resources: ['nodes'] }] });
  await screen.findByText(REFUSAL);
  expect(lists).toEqual(['nodes']);
  screen.getByText(
    'Without pods, persistentvolumeclaims, persistentvolumes, configmaps, secrets, events, which you may not list.',
  );
});

it('gives a screen reader nothing to say as time passes, though ages are shown', async () => {
  const metadata = { ...PLACED.metadata, deletionTimestamp: new Date(new ManualClock().now()).toISOString() };
  const { clock } = await open({ ...PLACED, metadata });
  const spoken = () =>
    [...document.querySelectorAll('[aria-live], [role=status], [role=alert]')].map(({ textContent }) => textContent);
  await screen.findByText(/was over 0s ago/);
  const before = spoken();
  await clock.advance(30_000);
  await screen.findByText(/was over 30s ago/);
  expect(spoken()).toEqual(before);
});

it('says of what there is no news, and explains the rest', async () => {
  await open(PENDING, { failing: 'namespaces/shop/configmaps' });
  await screen.findByText(REFUSAL);
  await waitFor(() => screen.getByText('No news of configmaps: out of order; trying again.'));
  expect(screen.queryByText(/needs the ConfigMap/)).toBeNull();
});
