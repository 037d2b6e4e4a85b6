// @vitest-environment happy-dom
import { fireEvent, screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import type { ResourceRule } from '../api/access.ts';
import type { Kind } from '../api/kinds.ts';
import { DEPLOYMENTS, NODES, PODS } from '../testing/kinds.ts';
import { renderInConsole, type Sent } from '../testing/render.tsx';
import { Actions } from './actions.tsx';
import type { AnyObject } from './use-object.ts';

const READ: ResourceRule = { verbs: ['get', 'list', 'watch'], apiGroups: ['*'], resources: ['*'] };
const patch = (...resources: readonly string[]): ResourceRule => ({ verbs: ['patch'], apiGroups: ['*'], resources });

async function open(kind: Kind, rules: readonly ResourceRule[], { search = '', spec = {} } = {}) {
  const written: Sent[] = [];
  const namespace = kind.isNamespaced ? 'shop' : '';
  const object: AnyObject = { apiVersion: 'v1', kind: kind.kind, metadata: { name: 'web', uid: 'u' }, spec };
  const page = await renderInConsole(<Actions kind={kind} namespace={namespace} name="web" object={object} />, {
    path: `/objects/${kind.id}/${namespace || '-'}/web${search}`,
    rules,
    server: (sent) => {
      if (sent.method !== 'GET') written.push(sent);
      return { items: [] };
    },
  });
  await waitFor(() => expect(page.openReads()).toBe(0));
  const group = within(screen.getByRole('group', { name: 'Actions' }));
  return { ...page, written, buttons: () => group.queryAllByRole('button').map(({ textContent }) => textContent) };
}

describe('actions of a page', () => {
  it.each([
    ['to read', DEPLOYMENTS, [READ], []],
    ['to scale', DEPLOYMENTS, [READ, patch('deployments/scale')], ['Scale']],
    ['to write', DEPLOYMENTS, [READ, patch('deployments')], ['Restart', 'Roll back']],
    ['to write, and not to read revisions', DEPLOYMENTS, [patch('deployments')], ['Restart']],
    ['to write nodes, and not to evict', NODES, [READ, patch('nodes')], ['Cordon']],
    ['to debug', PODS, [READ, patch('pods/ephemeralcontainers')], ['Add a debug container']],
  ])('are those that the rights allow: %s', async (_, kind, rules, expected) => {
    expect((await open(kind, rules)).buttons()).toEqual(expected);
  });

  it('have one of cordon and uncordon', async () => {
    expect((await open(NODES, [READ, patch('nodes')], { spec: { unschedulable: true } })).buttons()).toEqual([
      'Uncordon',
    ]);
  });

  it('are opened by an address, which changes nothing', async () => {
    const page = await open(DEPLOYMENTS, [READ, patch('deployments')], { search: '?do=restart' });
    const dialog = within(await screen.findByRole('dialog', { name: 'Restart web' }));
    expect(page.written).toEqual([]);
    fireEvent.click(dialog.getByRole('button', { name: 'Restart' }));
    await waitFor(() => expect(page.address()).toBe('/objects/deployments.apps/shop/web'));
    expect(page.written).toHaveLength(1);
  });

  it('are opened by no address without the right', async () => {
    const page = await open(DEPLOYMENTS, [READ], { search: '?do=restart' });
    expect(screen.queryByRole('dialog')).toBeNull();
    expect(page.written).toEqual([]);
  });
});
