import { expect, it } from 'vitest';
import { validateStopSignal } from './stop-signals.ts';

const of = (signal: string | undefined, os?: string) =>
  validateStopSignal(signal, os === undefined ? {} : { os: { name: os } }, 'p').map(({ type }) => type);

it('a stop signal is one of those of the pod’s operating system, which must be said', () => {
  for (const signal of ['SIGTERM', 'SIGUSR1', 'SIGRTMIN', 'SIGRTMIN+15', 'SIGRTMAX-14'])
    expect(of(signal, 'linux')).toEqual([]);
  for (const signal of ['TERM', 'SIGNONE', 'SIGRTMIN+16', '15', ''])
    expect(of(signal, 'linux')).toEqual(['FieldValueNotSupported']);
  expect([of('SIGTERM', 'windows'), of('SIGUSR1', 'windows')]).toEqual([[], ['FieldValueNotSupported']]);
  expect([of('SIGTERM'), of(undefined)]).toEqual([['FieldValueForbidden'], []]);
});
