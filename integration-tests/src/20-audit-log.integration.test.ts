import { expect, test } from 'vitest';
import { Cluster } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';

const cluster = new Cluster();

interface Event {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly resource: string; readonly namespace?: string; readonly name?: string };
  readonly responseStatus: { readonly code: number };
}

test('what kubectl and the controllers write is in the audit log, without what secrets hold', async () => {
  await using namespace = await cluster.namespace();
  const marker = `marker-of-${namespace.name}`;
  await cluster.mustKubectl([
    ...['create', 'secret', 'generic', 'password', '-n', namespace.name, `--from-literal=word=${marker}`],
  ]);
  const [apiserver] = await cluster.containers('apiserver');
  const read = () => cluster.docker(['exec', apiserver?.id ?? '', 'sh', '-c', 'cat /var/log/gantry/audit-*.log']);
  const { log, events } = await eventually('the events are written', 60_000, async () => {
    const log = await read();
    const ofNamespace = log
      .split('\n')
      .filter((line) => line.includes(namespace.name))
      .map((line) => JSON.parse(line) as Event);
    const secret = ofNamespace.find(({ objectRef }) => objectRef?.resource === 'secrets');
    const account = ofNamespace.find(({ objectRef }) => objectRef?.resource === 'serviceaccounts');
    return secret === undefined || account === undefined ? undefined : { log, events: { secret, account } };
  });
  expect(events.secret).toMatchObject({
    verb: 'create',
    user: { username: 'kubernetes-admin' },
    objectRef: { name: 'password' },
    responseStatus: { code: 201 },
  });
  expect(events.account).toMatchObject({
    verb: 'create',
    user: { username: expect.stringMatching(/^system:/) as unknown },
  });
  expect(log).not.toContain(marker);
  expect(log).not.toContain(Buffer.from(marker).toString('base64'));
});
