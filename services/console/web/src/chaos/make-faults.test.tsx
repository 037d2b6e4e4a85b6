// @vitest-environment happy-dom
import { fireEvent, screen, waitFor } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import { renderInConsole, type Sent } from '../testing/render.tsx';
import { Strikes } from './make-faults.tsx';
import type { Service } from './runs.ts';

const serviceWith = (...peers: readonly string[]): Service => ({
  uid: 's',
  heartbeatAt: 0,
  workloads: [],
  faults: [
    { name: 'kill', what: '', targets: [{ target: 'scheduler/leader', peers: [] }] },
    { name: 'cut', what: '', targets: [{ target: 'scheduler/leader', peers }] },
  ],
});

const peer = () => screen.getByLabelText<HTMLSelectElement>('Cut from');
const button = (name: string) => screen.getByRole<HTMLButtonElement>('button', { name });

async function strikes(server: (sent: Sent) => unknown = () => ({})) {
  const sent: Sent[] = [];
  const page = await renderInConsole(<Strikes service={serviceWith('etcd', 'apiserver')} />, {
    path: '/chaos',
    server: (one) => {
      sent.push(one);
      return server(one);
    },
  });
  return { ...page, sent };
}

describe('strikes', () => {
  it.each([['etcd'], ['apiserver']])('cut from %s stays when that is gone, and cuts from no other', async (chosen) => {
    const page = await strikes();
    fireEvent.change(peer(), { target: { value: chosen } });
    page.show(<Strikes service={serviceWith('proxy/1', 'proxy/2')} />);
    expect([peer().value, button('Cut').disabled]).toEqual([chosen, true]);
  });

  it('cut from the first one that was shown, though nobody has chosen it', async () => {
    const page = await strikes();
    expect(peer().value).toBe('etcd');
    page.show(<Strikes service={serviceWith('apiserver')} />);
    expect([peer().value, button('Cut').disabled]).toEqual(['etcd', true]);
  });

  it('show the run that they have made, but not to those who have left', async () => {
    const { promise, resolve } = Promise.withResolvers<object>();
    const page = await strikes(() => promise);
    fireEvent.click(button('Kill'));
    expect(page.sent).toMatchObject([
      { method: 'POST', body: { spec: { plan: [{ kind: 'kill', target: 'scheduler/leader' }] } } },
    ]);
    await page.navigate('/');
    page.show(null);
    resolve({ metadata: { name: 'kill-x' } });
    await page.navigate('/objects/pods');
    expect(page.address()).toBe('/objects/pods');
  });

  it('show the run that they have made', async () => {
    const page = await strikes(() => ({ metadata: { name: 'kill-x' } }));
    fireEvent.click(button('Kill'));
    await waitFor(() => expect(page.address()).toBe('/chaos?run=kill-x'));
  });
});
