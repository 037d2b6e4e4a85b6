// @vitest-environment happy-dom
import { act, fireEvent, screen, waitFor } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import { NODES, PODS } from '../testing/kinds.ts';
import { renderInConsole } from '../testing/render.tsx';
import { ClusterPage } from './cluster-page.tsx';

const pod = (name: string, status: object) => ({
  metadata: { name, namespace: 'shop', uid: name, resourceVersion: '2' },
  spec: { nodeName: 'node-1', containers: [] },
  status,
});
const waiting = (reason: string) => ({ containerStatuses: [{ state: { waiting: { reason } } }] });
const NODE = {
  metadata: { name: 'node-1', uid: 'n' },
  status: { allocatable: { cpu: '2', memory: '1Gi', pods: '4' }, conditions: [{ type: 'Ready', status: 'True' }] },
};

const openPage = (path = '/') =>
  renderInConsole(<ClusterPage />, {
    path,
    kinds: [NODES, PODS],
    server: (sent) => ({
      metadata: { resourceVersion: '1' },
      items: sent.path.startsWith('/api/v1/nodes') ? [NODE] : [pod('starting', waiting('ContainerCreating'))],
    }),
  });
const rows = (name: RegExp) => screen.getAllByRole('row', { name }).map(({ textContent }) => textContent);

describe('the page of the cluster', () => {
  it('leads from a pod that is not ready to the reason', async () => {
    const page = await openPage();
    await screen.findByRole('heading', { name: 'Pods that are not ready' });
    await page.send('/pods', { type: 'ADDED', object: pod('loops', waiting('CrashLoopBackOff')) });
    await waitFor(async () => {
      await act(() => page.clock.advance(1000));
      expect(rows(/^shop\//)).toEqual([
        'shop/loopsfailingCrashLoopBackOffnode-1',
        'shop/startingstartingContainerCreatingnode-1',
      ]);
    });
    fireEvent.click(screen.getByRole('link', { name: 'shop/loops' }));
    await waitFor(() => expect(page.address()).toBe('/objects/pods/shop/loops?tab=why'));
  });

  it('says how many pods a node has of those that it takes', async () => {
    await openPage();
    expect(await screen.findByRole('cell', { name: '1 of 4' })).toBeDefined();
    expect(screen.queryByText(/Nodes may be full of others/)).toBeNull();
  });

  it('says that it counts the pods of one namespace alone', async () => {
    await openPage('/?ns=shop');
    await screen.findByText(/Nodes may be full of others/);
  });
});
