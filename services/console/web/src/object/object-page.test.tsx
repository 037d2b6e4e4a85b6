// @vitest-environment happy-dom
import { fireEvent, screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import type { ResourceRule } from '../api/access.ts';
import { PODS } from '../testing/kinds.ts';
import { renderInConsole } from '../testing/render.tsx';
import { ObjectPage } from './object-page.tsx';

const POD = {
  metadata: { name: 'web', namespace: 'shop', uid: 'u', resourceVersion: '1' },
  spec: { containers: [{ name: 'main', image: 'web:1', ports: [{ containerPort: 80 }] }] },
  status: { containerStatuses: [{ name: 'main', state: { running: {} } }] },
};
const may = (verb: string, ...resources: readonly string[]): ResourceRule => ({
  verbs: [verb],
  apiGroups: [''],
  resources,
});
const READ: ResourceRule = { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['pods'] };

async function open(rules: readonly ResourceRule[] | Promise<readonly ResourceRule[]>, search = '') {
  const page = await renderInConsole(<ObjectPage />, {
    path: `/objects/pods/shop/web${search}`,
    kinds: [PODS],
    rules,
    server: () => ({ metadata: { resourceVersion: '1' }, items: [POD] }),
  });
  await screen.findByRole('heading', { name: /Pod.*web/ });
  return page;
}

const tabs = () => within(screen.getByRole('list', { name: 'Parts of the object' })).getAllByRole('link');
const titles = () => tabs().map(({ textContent }) => textContent);
const commands = () => [...document.querySelectorAll('.kubectl code')].map(({ textContent }) => textContent);

describe('the page of an object', () => {
  it('has the parts that the rights allow, when they are known', async () => {
    const { promise, resolve } = Promise.withResolvers<readonly ResourceRule[]>();
    await open(promise);
    expect(screen.queryByRole('list', { name: 'Parts of the object' })).toBeNull();
    resolve([READ]);
    await waitFor(() => expect(titles()).toEqual(['Overview', 'Why', 'Related', 'YAML', 'Fields']));
    expect(screen.queryByRole('heading', { name: 'Ports' })).toBeNull();
  });

  it('has those of the log, the terminal, the events and the ports for those who may', async () => {
    await open([READ, may('get', 'pods/log', 'pods/proxy'), may('create', 'pods/exec'), may('list', 'events')]);
    await waitFor(() =>
      expect(titles()).toEqual(['Overview', 'Why', 'Logs', 'Terminal', 'Related', 'Events', 'YAML', 'Fields']),
    );
    await screen.findByRole('heading', { name: 'Ports' });
    expect(commands()).toEqual(['kubectl describe pods web -n shop', 'kubectl port-forward pods/web -n shop 8080:80']);
  });

  it('shows no part that the rights do not allow, whatever the address says', async () => {
    await open([READ], '?tab=logs');
    await waitFor(() => expect(commands()).toEqual(['kubectl describe pods web -n shop']));
  });
});

describe('a debug container', () => {
  it('is added to the pod, with the profile and the target of its command', async () => {
    await open([READ, may('patch', 'pods/ephemeralcontainers')], '?do=debug');
    const dialog = within(await screen.findByRole('dialog', { name: 'Add a debug container' }));
    fireEvent.change(dialog.getByLabelText(/Image/), { target: { value: 'tools:2' } });
    fireEvent.change(dialog.getByLabelText(/Sees the processes of/), { target: { value: 'main' } });
    expect(commands()).toContain('kubectl debug -n shop web -it --image=tools:2 --profile=baseline --target=main');
  });
});

describe('copies', () => {
  it('have the command with the same result', async () => {
    await open([READ, may('create', 'pods/exec')], '?do=copy');
    const dialog = within(await screen.findByRole('dialog', { name: 'Copy files' }));
    const [from, to] = dialog.getAllByLabelText('Path in the container');
    fireEvent.change(from ?? expect.fail('no field'), { target: { value: '/etc/my hosts' } });
    fireEvent.change(to ?? expect.fail('no field'), { target: { value: '/tmp/a' } });
    expect(commands().slice(0, 2)).toEqual([
      `kubectl cp -n shop 'web:/etc/my hosts' 'my hosts' -c main`,
      'kubectl cp -n shop FILE web:/tmp/a -c main',
    ]);
  });
});
