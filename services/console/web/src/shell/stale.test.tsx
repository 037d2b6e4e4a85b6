// @vitest-environment happy-dom
import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { ObjectPage } from '../object/object-page.tsx';
import { ObjectsPage } from '../objects/objects-page.tsx';
import { kindOf } from '../testing/kinds.ts';
import { renderInConsole } from '../testing/render.tsx';
import { Navigation } from './navigation.tsx';

const STALE = ['metrics.k8s.io/v1beta1'];
const AWAY = 'The server of metrics.k8s.io/v1beta1 does not respond: its kinds are missing, or shown as they were.';
const UNKNOWN = 'The server has no resource of this name, or none that can be listed.';
const server = () => ({ metadata: { resourceVersion: '1' }, items: [] });

it('the navigation says which API versions have kinds that are missing', async () => {
  await renderInConsole(<Navigation />, { stale: STALE, server });
  await screen.findByText(AWAY);
});

it.each([
  ['of all objects', '/objects/nodes.metrics.k8s.io', <ObjectsPage key="" />],
  ['of one object', '/objects/nodes.metrics.k8s.io/shop/web', <ObjectPage key="" />],
])('the page %s of a kind that went with its server says so', async (_, path, content) => {
  await renderInConsole(content, { path, stale: STALE, server });
  await screen.findByText(AWAY);
  expect(screen.queryByText(UNKNOWN)).toBeNull();
});

it('a page says of the kinds of another group what it knows of them', async () => {
  const path = '/objects/nodes.k8s.io';
  await renderInConsole(<ObjectsPage />, { path, stale: STALE, server });
  await screen.findByText(UNKNOWN);
  expect(screen.queryByText(AWAY)).toBeNull();
});

it('a kind that is listed as it was is marked', async () => {
  const path = '/objects/nodes.metrics.k8s.io';
  const kinds = [kindOf('nodes.metrics.k8s.io', { version: 'v1beta1' })];
  await renderInConsole(<ObjectsPage />, { path, kinds, stale: STALE, server });
  await screen.findByRole('heading', { name: 'Node' });
  screen.getByText(AWAY);
});
