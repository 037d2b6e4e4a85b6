import { expect, it } from 'vitest';
import { readOptions } from './options.ts';

const read = (...args: string[]) => readOptions(args, ['load', 'pods']);

it('numbers are read', () => {
  expect(read('load', '--minutes', '3', '--pods', '10,20', '--endpoints', 'grpc')).toMatchObject({
    measures: ['load'],
    minutes: 3,
    times: 20,
    pods: [10, 20],
    etcd: 0,
    endpoints: ['grpc'],
  });
});

it.each([
  ...['objects', 'nodes', 'trials', 'minutes', 'times', 'ready', 'services', 'rounds'].flatMap((option) =>
    ['0', '-1', '1.5', 'x', ''].map((text) => [`--${option}`, text] as const),
  ),
  ['--etcd', '-1'] as const,
  ['--etcd', '8'] as const,
  ['--pods', '10,'] as const,
  ['--nodes', '5001'] as const,
])('%s=%s is refused', (option, text) => {
  expect(() => read(`${option}=${text}`)).toThrow(new RegExp(`^${option}: ".*" is no whole number from [01] to \\d+$`));
});

it('names that do not exist are refused', () => {
  expect(() => read('lod')).toThrow('measures: there is no lod; there are load, pods');
  expect(() => read('--endpoints', 'json,xml')).toThrow(
    '--endpoints: there is no "xml"; there are json, protobuf, grpc',
  );
});
