import type Docker from 'dockerode';
import { expect, test } from 'vitest';
import { successorOptions } from './successor.ts';

const ANONYMOUS = { ofModel: 'a'.repeat(64), ofOld: 'b'.repeat(64) };
const LABEL = 'com.docker.compose';
const NUMBER = `${LABEL}.container-number`;
const COMPOSE = { [`${LABEL}.project`]: 'x', [`${LABEL}.service`]: 'agent' };
const MODEL_ID = 'c0ffee000000ffff';

/** What the engine says of a container, as far as a successor depends on it. */
function container(number: string, keys: string, change: object = {}): Docker.ContainerInspectInfo {
  const network = (name: string) => ({
    Aliases: [`x-agent-${number}`, 'agent', MODEL_ID.slice(0, 12)],
    IPAMConfig: null,
    IPAddress: '10.0.0.9',
    NetworkID: name,
  });
  return {
    Id: MODEL_ID,
    Name: '/x-agent-model',
    Config: {
      Hostname: MODEL_ID.slice(0, 12),
      Image: 'gantry:new',
      Labels: { ...COMPOSE, [NUMBER]: number, other: 'of the model' },
    },
    HostConfig: {
      NetworkMode: 'x-pods',
      Mounts: [
        { Type: 'volume', Target: '/keys' },
        { Type: 'volume', Source: 'x_state', Target: '/state' },
      ],
    },
    Mounts: [
      { Type: 'volume', Name: keys, Destination: '/keys' },
      { Type: 'volume', Name: 'x_state', Destination: '/state' },
    ],
    NetworkSettings: { Networks: { 'x-control': network('1'), 'x-pods': network('2') } },
    ...change,
  } as unknown as Docker.ContainerInspectInfo;
}

const OLD = { id: 'd'.repeat(64), name: 'x-agent-1' };

test('a successor has the definition of the model, and the number, names and anonymous volumes of the old container', () => {
  const options = successorOptions(container('3', ANONYMOUS.ofModel), container('1', ANONYMOUS.ofOld), OLD);
  const aliases = { Aliases: ['x-agent-1', 'agent'], IPAMConfig: null };
  expect(options).toEqual({
    create: {
      name: 'dddddddddddd_x-agent-1',
      Image: 'gantry:new',
      Labels: { ...COMPOSE, [NUMBER]: '1', other: 'of the model' },
      Volumes: {},
      HostConfig: {
        NetworkMode: 'x-pods',
        Mounts: [
          { Type: 'volume', Source: 'x_state', Target: '/state' },
          { Type: 'volume', Source: ANONYMOUS.ofOld, Target: '/keys' },
        ],
      },
      NetworkingConfig: { EndpointsConfig: { 'x-pods': aliases } },
    },
    networks: { 'x-control': aliases },
  });
});

test('an anonymous volume that the old container does not have is a new one', () => {
  const old = container('1', ANONYMOUS.ofOld, { Mounts: [] });
  const { create } = successorOptions(container('3', ANONYMOUS.ofModel), old, OLD);
  expect(create.HostConfig?.Mounts).toContainEqual({ Type: 'volume', Target: '/keys' });
});

test('an anonymous volume in the form of the image is kept too', () => {
  const model = container('3', ANONYMOUS.ofModel);
  Object.assign(model.Config, { Volumes: { '/keys': {}, '/cache': {} } });
  model.HostConfig.Mounts = [];
  const { create } = successorOptions(model, container('1', ANONYMOUS.ofOld), OLD);
  expect(create.Volumes).toEqual({ '/cache': {} });
  expect(create.HostConfig?.Mounts).toEqual([{ Type: 'volume', Source: ANONYMOUS.ofOld, Target: '/keys' }]);
});
