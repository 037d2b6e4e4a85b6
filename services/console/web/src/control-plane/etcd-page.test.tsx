// @vitest-environment happy-dom
import { screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { expectAccessible } from '../testing/axe.ts';
import { renderInConsole } from '../testing/render.tsx';
import { EtcdPage } from './etcd-page.tsx';

// A chart measures what it shows.
vi.mock('../shell/chart.tsx', () => ({ Chart: () => null }));

const server = (address: string, watches: readonly object[]) => ({
  address,
  startedAt: '2026-01-01T11:00:00Z',
  requests: [],
  watches,
  flowControl: [],
});
const REPORTS: Readonly<Record<string, object>> = {
  '/gantry/v1/etcd': { at: '2026-01-01T12:00:00Z', leader: null, quotaBytes: 1, members: [] },
  '/gantry/v1/apiservers': {
    at: '2026-01-01T12:00:00Z',
    apiservers: [
      server('a', [
        { resource: 'pods', watches: 3, rest: 1 },
        { resource: 'nodes', watches: 4, rest: 0 },
      ]),
      server('b', [{ resource: 'pods', watches: 2, rest: 2 }]),
    ],
  },
};

it('counts the watches of all API servers by kind, those of services apart', async () => {
  await renderInConsole(<EtcdPage />, { server: ({ path }) => REPORTS[path] });
  await screen.findByRole('heading', { name: 'Watches now' });
  const rows = ['pods 5 3 2', 'nodes 4 0 4'].map((name) => screen.getByRole('row', { name }));
  expect(rows[0]?.compareDocumentPosition(rows[1] as Node)).toBe(Node.DOCUMENT_POSITION_FOLLOWING);
  await expectAccessible();
});
