import { expect, test } from 'vitest';
import { createEtcdTools, endFormerLeaders, readEtcdLayout } from './etcd-tools.ts';

const CONFIG = JSON.stringify({
  services: {
    apiserver: { image: 'gantry' },
    'etcd-3': { image: 'etcd:1', deploy: { replicas: 0 } },
    'etcd-1': { image: 'etcd:1', deploy: { replicas: 1 }, environment: { ETCD_NAME: 'etcd-1' } },
    'etcd-0': { image: 'etcd:1', environment: { ETCD_NAME: 'etcd-0' } },
  },
});

test('members of etcd are the services of the Compose file that have a container', () => {
  const layout = {
    members: ['etcd-0', 'etcd-1'],
    image: 'etcd:1',
    environments: { 'etcd-0': { ETCD_NAME: 'etcd-0' }, 'etcd-1': { ETCD_NAME: 'etcd-1' } },
  };
  expect(readEtcdLayout(CONFIG)).toEqual(layout);
  expect(() => readEtcdLayout('{"services":{}}')).toThrow('docker compose config shows no etcd');
});

test('members are asked with the certificate of the API servers, files need no network', async () => {
  const commands: string[] = [];
  const run = async (program: string, args: readonly string[]) => {
    commands.push([program, ...args].join(' '));
    return { code: 0, stdout: 'answer', stderr: '' };
  };
  const tools = createEtcdTools({ run }, 'c', readEtcdLayout(CONFIG));
  expect(await tools.ctl(['etcd-1'], ['del', 'key'])).toBe('answer');
  await tools.util(['snapshot', 'status', '/s/etcd.db'], ['/tmp:/s']);
  expect(commands).toEqual([
    'docker run --rm --network c-control -v c_pki-apiserver-etcd:/tls:ro --entrypoint etcdctl etcd:1 --endpoints https://etcd-1:2379 --dial-timeout 5s --command-timeout 60s --cacert /tls/ca.crt --cert /tls/tls.crt --key /tls/tls.key del key',
    'docker run --rm --network none -v /tmp:/s --entrypoint etcdutl etcd:1 snapshot status /s/etcd.db',
  ]);
});

test('the incarnation is removed before the elections of a former history', async () => {
  const keys: string[] = [];
  const run = async (_program: string, args: readonly string[]) => {
    keys.push(args.slice(args.indexOf('del')).join(' '));
    return { code: 0, stdout: '1', stderr: '' };
  };
  await endFormerLeaders(createEtcdTools({ run }, 'c', readEtcdLayout(CONFIG)));
  expect(keys).toEqual(['del /gantry/incarnation', 'del --prefix /gantry/elections/']);
});
