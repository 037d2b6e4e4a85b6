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

it('files that are needed after the measures are looked at before them', () => {
  expect(() => read('--json', '/no-such-folder/run.json')).toThrow(
    '--json: /no-such-folder/run.json cannot be written',
  );
  expect(() => read('--compare', '/no-such-file')).toThrow('--compare: /no-such-file is no saved run: ENOENT');
  expect(() => read('--compare', import.meta.filename)).toThrow('is no saved run');
});

it('churn needs as many rounds as tell growth from noise', () => {
  expect(() => readOptions(['churn', '--rounds', '5'], ['churn'])).toThrow('no whole number from 6 to 1000');
  expect(read('pods', '--rounds', '5').rounds).toBe(5);
});
