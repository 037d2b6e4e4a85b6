// @vitest-environment happy-dom
import { fireEvent, screen, waitFor } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import type { ResourceRule } from '../api/access.ts';
import { CONFIG_MAPS, DEPLOYMENTS, NODES, PODS } from '../testing/kinds.ts';
import { renderInConsole, type Sent } from '../testing/render.tsx';
import { Palette } from './palette.tsx';

const KINDS = [CONFIG_MAPS, DEPLOYMENTS, NODES, PODS];
const OBJECTS: Readonly<Record<string, readonly string[]>> = {
  '/apis/apps/v1/deployments': ['shop/web', 'shop/web-2'],
  '/api/v1/pods': ['shop/web-a'],
  '/api/v1/nodes': ['/web-node'],
};
const READER: ResourceRule = { verbs: ['get', 'list'], apiGroups: ['*'], resources: ['deployments', 'nodes', 'pods'] };

const listOf = (names: readonly string[] = []) => ({
  items: names.map((full) => {
    const [namespace, name] = full.split('/');
    return { metadata: { namespace, name } };
  }),
});
const server = ({ path }: Sent) => listOf(OBJECTS[path.split('?')[0] ?? '']);

async function openPalette(given: Partial<Parameters<typeof renderInConsole>[1]> = {}) {
  const closed: string[] = [];
  const page = await renderInConsole(<Palette onClose={() => closed.push('closed')} />, {
    kinds: KINDS,
    server,
    ...given,
  });
  const search = screen.getByRole('combobox', { name: 'Search' });
  return {
    ...page,
    closed,
    type: (value: string) => fireEvent.change(search, { target: { value } }),
    press: (key: string) => fireEvent.keyDown(search, { key }),
  };
}

const optionsNow = () => screen.queryAllByRole('option').map(({ textContent }) => textContent);
const chosen = () => screen.getByRole('option', { selected: true }).textContent;
const shows = (...options: readonly string[]) => waitFor(() => expect(optionsNow()).toEqual(options));

describe('the palette', () => {
  it('has each action of a page, and opens its dialog there', async () => {
    const palette = await openPalette();
    palette.type('restart web');
    await shows('Restart web Deployment in shop', 'Restart web-2 Deployment in shop');
    palette.type('uncordon web');
    await shows('Uncordon web-node Node');
    palette.type('rollout undo web-2');
    await shows('Roll back web-2 Deployment in shop');
    palette.press('Enter');
    expect(palette.closed).toEqual(['closed']);
    await waitFor(() => expect(palette.address()).toBe('/objects/deployments.apps/shop/web-2?do=roll-back'));
  });

  it('offers what the rights allow, and nothing else', async () => {
    const palette = await openPalette({ rules: [READER] });
    palette.type('restart web');
    await screen.findByText('Nothing found.');
    palette.type('drain web');
    await screen.findByText('Nothing found.');
    palette.type('why web-a');
    await shows('Why is web-a Pod in shop');
    palette.type('logs web-a');
    await screen.findByText('Nothing found.');
  });

  it('judges by the rights in the namespace of the object, and for nodes in the whole cluster', async () => {
    const patchNamed = { verbs: ['patch'], apiGroups: [''], resources: ['nodes'], resourceNames: ['web-node'] };
    const palette = await openPalette({ rules: [READER, patchNamed] });
    palette.type('cordon web');
    await shows('Cordon web-node Node');
  });

  it('says that nothing is found when the rights are known, not before', async () => {
    const { promise, resolve } = Promise.withResolvers<readonly ResourceRule[]>();
    const palette = await openPalette({ rules: promise });
    palette.type('delete web-2');
    await screen.findByText(/^Loading/);
    expect(screen.queryByText('Nothing found.')).toBeNull();
    palette.press('Enter');
    expect(palette.address()).toBe('/');
    resolve([READER]);
    await screen.findByText('Nothing found.');
  });

  it('opens what was chosen, though others have come before it', async () => {
    const { promise, resolve } = Promise.withResolvers<object>();
    const palette = await openPalette({
      server: (sent) => (sent.path.startsWith('/apis/apps') ? promise : server(sent)),
    });
    palette.type('web');
    await shows('web-node Node', 'web-a Pod in shop');
    palette.press('ArrowDown');
    expect(chosen()).toBe('web-a Pod in shop');
    resolve(listOf(OBJECTS['/apis/apps/v1/deployments']));
    await waitFor(() => expect(optionsNow()).toHaveLength(4));
    expect(chosen()).toBe('web-a Pod in shop');
    palette.press('Enter');
    await waitFor(() => expect(palette.address()).toBe('/objects/pods/shop/web-a'));
  });
});
