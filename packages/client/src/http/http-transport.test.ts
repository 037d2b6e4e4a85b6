import { ManualClock } from '@gantry/base/testing';
import { expect, it } from 'vitest';
import { HttpTransport } from './http-transport.ts';

it('waits for credentials no longer than the request may take', async () => {
  const clock = new ManualClock();
  const dial = () => new Promise<never>(() => undefined);
  using transport = new HttpTransport({ server: 'https://127.0.0.1:1', dial }, 'test', clock);
  const request = { method: 'GET', path: '/' } as const;

  const stop = new AbortController();
  const aborted = transport.text(request, stop.signal);
  stop.abort(new TypeError('stopped'));
  await expect(aborted).rejects.toThrow('stopped');

  const late = transport.text(request, new AbortController().signal, { deadlineMs: 500 });
  const failed = expect(late).rejects.toMatchObject({ name: 'ConnectionError', sent: 'no' });
  await clock.advance(500);
  await failed;
});
