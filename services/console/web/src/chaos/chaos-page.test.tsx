// @vitest-environment happy-dom
import { act, fireEvent, screen, waitFor } from '@testing-library/react';
import { expect, it } from 'vitest';
import { kindOf } from '../testing/kinds.ts';
import { renderInConsole, type Sent } from '../testing/render.tsx';
import { ChaosPage } from './chaos-page.tsx';
import { RUNS } from './runs.ts';

const runOf = (name: string, second: number) => ({
  apiVersion: 'chaos.gantry.dev/v1alpha1',
  kind: 'ChaosRun',
  metadata: { name, uid: `uid of ${name}`, creationTimestamp: `2026-01-01T00:00:0${second}Z`, resourceVersion: '2' },
});

it('shows the same run when a newer one begins: its button ends the run that was seen', async () => {
  const written: Sent[] = [];
  const page = await renderInConsole(<ChaosPage />, {
    path: '/chaos',
    kinds: [kindOf(RUNS.id, { isNamespaced: false })],
    server: (sent) => {
      if (sent.method !== 'GET') written.push(sent);
      const items = sent.path.includes('/chaosruns') ? [runOf('first', 1)] : [];
      return { metadata: { resourceVersion: '1' }, items };
    },
  });
  await screen.findByRole('heading', { name: /^first/ });
  await screen.findByRole('button', { name: 'End it and heal everything' });
  await page.send('/chaosruns', { type: 'ADDED', object: runOf('second', 2) });
  await waitFor(async () => {
    await act(() => page.clock.advance(1000));
    expect(screen.queryByRole('link', { name: 'second' })).not.toBeNull();
  });
  expect(screen.getByRole('heading', { name: /^first/ })).toBeDefined();
  fireEvent.click(screen.getByRole('button', { name: 'End it and heal everything' }));
  await waitFor(() =>
    expect(written).toMatchObject([
      { method: 'DELETE', path: expect.stringMatching(/\/first$/), body: { preconditions: { uid: 'uid of first' } } },
    ]),
  );
});
